// Layout operations on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"

#define MERCER_VALUE Var
#include "engine/ops/choice.inl"
#include "engine/ops/index.inl"
#include "engine/ops/layout.inl"

namespace mercer {

Var concat(std::span<const Var> xs, int axis) {
    const CalledAs called("concat");
    if (xs.empty()) throw ShapeError("concat", "needs at least one tensor");
    std::vector<const Var*> parts = pointers_to(xs);
    // The derivative asks for the size of every part, which a tape knows of what stands on it.
    std::vector<Var> placed(xs.begin(), xs.end());
    if (Tape* tape = Tape::of("concat", VarRefs(parts)))
        for (size_t i = 0; i < placed.size(); ++i)
            if (placed[i].is_constant()) parts[i] = &(placed[i] = tape->watch(placed[i].value()));
    return record<Concat>({normal_axis("concat", axis, xs[0].rank())}, VarRefs(parts));
}

}  // namespace mercer
