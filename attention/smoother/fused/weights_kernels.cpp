// Sums in the canonical order, a row's lanes kept from tile to tile: the same bits on every
// instruction set.
#include "attention/smoother/fused/division_rows.h"
#include "attention/smoother/fused/entmax_rows.h"
#include "attention/smoother/fused/softmax_rows.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
constexpr attention::WeightTable<T> table = {
    soften<T>,   finish_softmax<T>, join<T>,      unsoften<T>, gather<T>,  finish_division<T>,
    undivide<T>, hide<T>,           threshold<T>, sparse<T>,   escorts<T>, unsparse<T>};

}  // namespace

extern const attention::WeightTable<float> attend_weights_f32;
extern const attention::WeightTable<double> attend_weights_f64;
const attention::WeightTable<float> attend_weights_f32 = table<float>;
const attention::WeightTable<double> attend_weights_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
