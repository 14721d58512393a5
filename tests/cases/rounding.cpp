// Steps away from their kinks, where their derivative is 0; interval and slope given as numbers; triangles.
#include <cmath>

#include "tests/cases/families.h"

namespace cases {
namespace {

using namespace mercer;
using oracle::each;
using oracle::Naive;
using oracle::Real;

struct Row {
    const char* name;
    Var (*f)(const Var&);
    Real (*expected)(Real);
    double centre;  // of an interval without a kink, 0.8 wide
};
constexpr Row rows[] = {{"floor", floor, [](Real x) { return std::floor(x); }, 2.5},
                        {"ceil", ceil, [](Real x) { return std::ceil(x); }, -2.5},
                        {"round", round, [](Real x) { return std::nearbyint(x); }, 3},
                        {"trunc", trunc, [](Real x) { return std::trunc(x); }, -1.5},
                        {"sign", sign, [](Real x) { return Real(x > 0) - Real(x < 0); }, 1}};

void triangles(std::vector<Case>& list, const Input& in) {
    const int rank = in.shape.rank();
    for (int64_t diagonal : {-2, 0, 1})
        for (bool lower : {true, false})
            list.push_back(
                {describe(std::string(lower ? "tril " : "triu ") + std::to_string(diagonal), {in}),
                 {in},
                 [=](Vars x) { return lower ? tril(x[0], diagonal) : triu(x[0], diagonal); },
                 [=](Naives x) {
                     Naive y = x[0];
                     each(y.shape, [&](const Shape& i, size_t p) {
                         const int64_t d = i[rank - 1] - i[rank - 2];
                         if (lower ? d > diagonal : d < diagonal) y.at[p] = 0;
                     });
                     return y;
                 }});
}

}  // namespace

void add_rounding(std::vector<Case>& list, bool big) {
    if (big) return triangles(list, {{3, 257, 301}});
    const std::vector<Input> in{{{3, 9}, Layout::transposed}};
    for (const Row& row : rows)
        list.push_back(
            {describe(std::string(row.name) + " between steps", in), in,
             [row](Vars x) { return row.f(tanh(x[0]) * 0.4 + row.centre) + square(x[0]); },
             [row](Naives x) {
                 Naive y = x[0];
                 for (Real& v : y.at)
                     v = row.expected(std::tanh(v) * 0.4L + Real(row.centre)) + v * v;
                 return y;
             }});
    // Halves and numbers beyond 2^mantissa.
    const std::vector<Input> far{{{33}}};
    for (double scale : {0.5, 1e6, 1e17})
        for (const Row& row : rows)
            list.push_back(
                {describe(std::string(row.name) + " of multiples of " + std::to_string(scale), far),
                 far,
                 [row, scale](Vars x) {
                     return row.f(
                         Var(cast(cast(x[0].value() * 4.0, DType::i32), x[0].dtype()) * scale));
                 },
                 [row, scale](Naives x) {
                     Naive y = x[0];
                     for (Real& v : y.at) v = row.expected(std::trunc(v * 4) * Real(scale));
                     return y;
                 },
                 1, true, false});
    const std::vector<Input> kinked{{{3, 5}, Layout::dense, Domain::nonzero}};
    list.push_back({describe("clamp to numbers", kinked), kinked,
                    [](Vars x) { return clamp(x[0], -0.125, 0.125) + clamp(x[0], -9, 9); },
                    [](Naives x) {
                        Naive y = x[0];
                        for (Real& v : y.at) v += v < -0.125L ? -0.125L : v > 0.125L ? 0.125L : v;
                        return y;
                    }});
    list.push_back({describe("leaky_relu of a number", kinked), kinked,
                    [](Vars x) { return leaky_relu(x[0], 0.25); },
                    [](Naives x) {
                        Naive y = x[0];
                        for (Real& v : y.at) v = v > 0 ? v : v / 4;
                        return y;
                    }});
    list.push_back({describe("elu of a number", kinked), kinked, [](Vars x) { return elu(x[0]); },
                    [](Naives x) {
                        Naive y = x[0];
                        for (Real& v : y.at) v = v > 0 ? v : std::expm1(v);
                        return y;
                    }});
    for (const Input& i :
         {Input{{4, 4}}, Input{{3, 5}, Layout::transposed}, Input{{2, 5, 3}}, Input{{1, 1}}})
        triangles(list, i);
}

}  // namespace cases
