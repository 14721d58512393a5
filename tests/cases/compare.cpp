// Comparisons, logic and tests, on every dtype.
#include <cmath>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

using Pair = Tensor (*)(const Var&, const Var&);
using Truth = bool (*)(Real, Real);

struct Row {
    const char* name;
    Pair f;
    Truth truth;
};
constexpr Row comparisons[] = {
    {"equal", equal, [](Real a, Real b) { return a == b; }},
    {"not_equal", not_equal, [](Real a, Real b) { return a != b; }},
    {"less", less, [](Real a, Real b) { return a < b; }},
    {"less_equal", less_equal, [](Real a, Real b) { return a <= b; }},
    {"greater", greater, [](Real a, Real b) { return a > b; }},
    {"greater_equal", greater_equal, [](Real a, Real b) { return a >= b; }}};
constexpr Row logics[] = {
    {"logical_and", logical_and, [](Real a, Real b) { return a > 0 && b > 0; }},
    {"logical_or", logical_or, [](Real a, Real b) { return a > 0 || b > 0; }},
    {"logical_xor", logical_xor, [](Real a, Real b) { return (a > 0) != (b > 0); }}};

// Few different values, so that many are equal.
Tensor coarse(const Var& x, DType dtype) {
    const Tensor whole = cast(x.value() * 2.0, DType::i32);
    if (dtype == DType::boolean) return greater(whole, 0);
    return cast(whole, is_floating(dtype) ? x.dtype() : dtype);
}
Real coarse(Real x, DType dtype) {
    const Real whole = std::trunc(2 * x);
    return dtype == DType::boolean ? Real(whole > 0) : whole;
}

Case binary(const Row& row, const std::vector<Input>& in, DType dtype) {
    return {describe(std::string(row.name) + " of " + std::string(name_of(dtype)), in),
            in,
            [f = row.f, dtype](Vars x) { return f(coarse(x[0], dtype), coarse(x[1], dtype)); },
            [truth = row.truth, dtype](Naives x) {
                Naive y = oracle::make(oracle::joint(x[0].shape, x[1].shape));
                each(y.shape, [&](const Shape& i, size_t p) {
                    y.at[p] = truth(coarse(oracle::broadcast(x[0], i), dtype),
                                    coarse(oracle::broadcast(x[1], i), dtype));
                });
                return y;
            },
            8,
            true,
            false};
}

// f(x) where x meets `odd` at every third place, against `truth`.
Case unary(const char* name, const Input& in, Tensor (*f)(const Var&), bool (*truth)(Real)) {
    return {describe(name, {in}),
            {in},
            [f](Vars x) {
                const Tensor top =
                    x[0].value() * 3.0;  // some exceed the largest: infinite, then NaN
                const double huge = x[0].dtype() == DType::f64 ? 1.712088e308 : 3.240784e38;
                const Tensor big = top * huge;
                return f(where(greater(x[0], 0.3), big - big, big));
            },
            [truth](Naives x) {
                Naive y = x[0];
                for (Real& v : y.at) {
                    const bool over = std::abs(v * 3) > 1.05L;  // 3·|x|·huge is infinite
                    v = truth(!over      ? (v > 0.3L ? 0 : v)
                              : v > 0.3L ? std::nanl("")
                                         : std::copysign(INFINITY, v));
                }
                return y;
            },
            8,
            true,
            false};
}

void family(std::vector<Case>& list, const std::vector<std::vector<Input>>& shapes) {
    for (const auto& in : shapes) {
        for (const Row& row : comparisons)
            for (DType t : {DType::f64, DType::i32, DType::i64, DType::boolean})
                list.push_back(binary(row, in, t));
        for (const Row& row : logics) list.push_back(binary(row, in, DType::boolean));
        const Input& x = in[0];
        list.push_back(unary("isnan", x, isnan, [](Real v) { return std::isnan(v); }));
        list.push_back(unary("isinf", x, isinf, [](Real v) { return std::isinf(v); }));
        list.push_back(unary("isfinite", x, isfinite, [](Real v) { return std::isfinite(v); }));
        list.push_back({describe("logical_not", {x}),
                        {x},
                        [](Vars v) { return logical_not(greater(v[0], 0.5)); },
                        [](Naives v) {
                            Naive y = v[0];
                            for (Real& e : y.at) e = !(e > 0.5L);
                            return y;
                        },
                        8,
                        true,
                        false});
    }
}

}  // namespace

void add_compare(std::vector<Case>& list, bool big) {
    if (big)
        family(list, {{{{40001}}, {{40001}}},
                      {{{211, 193}, Layout::transposed}, {{193}}},
                      {{{300, 1}}, {{1, 257}}}});
    else
        family(list, {{{{}}, {{}}},
                      {{{0}}, {{1}}},
                      {{{7}}, {{}}},
                      {{{33}}, {{33}}},
                      {{{3, 5}}, {{5}}},
                      {{{3, 1}}, {{1, 5}}},
                      {{{3, 70}, Layout::transposed}, {{3, 70}}},
                      {{{3, 9}, Layout::stepped}, {{9}, Layout::reversed}},
                      {{{3, 9}, Layout::expanded}, {{3, 9}, Layout::transposed}}});
}

}  // namespace cases
