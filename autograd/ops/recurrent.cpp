// Recurrent layers on Vars.
#include "engine/ops/recurrent.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {
namespace {

template <class Op, class... X>
auto sequence(const RecurrentAttrs& attrs, const X&... x) {
    return record<Op>(attrs, {&x...});
}

}  // namespace

#define MERCER_VALUE Var
#include "engine/ops/recurrent.inc"

}  // namespace mercer
