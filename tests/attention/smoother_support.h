// The fused smoother beside the reference form: values, and gradients of every operand.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/restore.h"

namespace mercer {

/// Options that may read Vars beyond q, k and v.
using MakeOptions = std::function<SmootherOptions(std::span<const Var> extra)>;

/// Out, and the gradient of each input: q, k, v, extra…
using SmootherResults = std::vector<Tensor>;

inline bool stands_fused(const Tape& tape) {
    for (size_t i = 0; i < tape.operations(); ++i)
        if (std::string(tape.operation(i).name) == "attend") return true;
    return false;
}

/// What flows into a result, in float64.
inline Tensor cotangent_of(const Shape& out) { return randn(Key{70, 1}, out, DType::f64); }

/// make(x): the smoother of some operands, fused or not.
inline SmootherResults smoother_results(bool fused, const std::vector<Tensor>& x,
                                        const std::function<Var(std::span<const Var>)>& make) {
    Tape tape;
    std::vector<Var> at;
    for (const Tensor& t : x) at.push_back(tape.watch(t));
    const Var out = make(at);
    if (fused) CHECK(stands_fused(tape));
    const Tensor g = cast(cotangent_of(out.shape()), out.dtype());
    SmootherResults r{out.value()};
    const Var losses[] = {out};
    for (Tensor& d : tape.gradient(losses, at, {.cotangents = {g}})) r.push_back(std::move(d));
    return r;
}
inline SmootherResults smoother_results(bool fused, const std::vector<Tensor>& x,
                                        const MakeOptions& options) {
    const auto form = fused ? attend : attend_reference;
    return smoother_results(fused, x, [&](std::span<const Var> at) {
        return form(at[0], at[1], at[2], options(at.subspan(3)));
    });
}

inline double largest_distance(const Tensor& a, const Tensor& b) {
    if (a.count() == 0) return 0;
    const Tensor wa = cast(a, DType::f64), wb = cast(b, DType::f64);
    return max(abs(wa - wb)).item<double>() / std::max(0.5, max(abs(wb)).item<double>());
}
/// The root of the mean square instead of the largest: how much float32 errs.
inline double mean_distance(const Tensor& a, const Tensor& b) {
    if (a.count() == 0) return 0;
    const Tensor wb = cast(b, DType::f64);
    return std::sqrt(mean(square(cast(a, DType::f64) - wb)).item<double>()) /
           std::max(0.5, max(abs(wb)).item<double>());
}
inline double over_all(double (*distance)(const Tensor&, const Tensor&), const SmootherResults& a,
                       const SmootherResults& b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        // NaN counts as far away.
        const double d = distance(a[i], b[i]);
        most = d <= most ? most : d;
    }
    return most;
}

inline std::vector<Tensor> in_float32(std::vector<Tensor> x) {
    for (Tensor& t : x) t = cast(t, DType::f32);
    return x;
}

/// Of `run` on every instruction set, with one thread and with two.
inline void check_same_bits(const std::string& name, const std::function<SmootherResults()>& run) {
    CAPTURE(name);
    const Restore restore;
    set_isa(Isa::scalar);
    set_thread_count(1);
    const SmootherResults expected = run();
    for (const Isa other : available_isas())
        for (const int threads : {1, 2}) {
            set_isa(other);
            set_thread_count(threads);
            CAPTURE(std::string(name_of(other)));
            CAPTURE(threads);
            const SmootherResults r = run();
            for (size_t i = 0; i < r.size(); ++i) {
                CAPTURE(i);
                CHECK(difference(r[i], expected[i]) == "");
            }
        }
}

/// How far fused is from reference: in float64, and float32's error against that of the reference.
struct SmootherComparison {
    double float64, fused32, plain32;
};
inline SmootherComparison compare_smoothers(const std::vector<Tensor>& x,
                                            const MakeOptions& options) {
    const SmootherResults exact = smoother_results(false, x, options);
    const std::vector<Tensor> narrow = in_float32(x);
    return {over_all(largest_distance, smoother_results(true, x, options), exact),
            over_all(mean_distance, smoother_results(true, narrow, options), exact),
            over_all(mean_distance, smoother_results(false, narrow, options), exact)};
}

/// The same of operands(0); and float32's errors over more draws where they are more than twice the
/// reference's and `slack`: that of one number, such as a parameter's gradient, is a matter of luck.
template <class Operands>
SmootherComparison compare_by_draws(const Operands& operands, const MakeOptions& options,
                                    double slack) {
    SmootherComparison c = compare_smoothers(operands(0), options);
    if (c.fused32 <= 2 * c.plain32 + slack) return c;
    for (uint64_t draw = 1; draw <= 40; ++draw) {
        const auto more = compare_smoothers(operands(draw), options);
        c.fused32 = std::hypot(c.fused32, more.fused32);
        c.plain32 = std::hypot(c.plain32, more.plain32);
    }
    c.fused32 /= std::sqrt(41), c.plain32 /= std::sqrt(41);
    return c;
}

}  // namespace mercer
