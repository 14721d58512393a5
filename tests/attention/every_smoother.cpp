#include "tests/attention/every_smoother.h"

#include "autograd/functions.h"
#include "tests/attention/every_kernel.h"

namespace mercer::test {
namespace {

using Parameters = std::span<const Var>;

Tensor number(double x) { return Tensor::scalar(x, DType::f64); }
Tensor sample(uint64_t stream, const Shape& shape, double scale) {
    return randn(Key{92, stream}, shape, DType::f64) * scale;
}
Tensor numbers(const std::vector<int64_t>& x) { return Tensor::from(x); }

/// The kernel with parameters that stand on a tape.
Kernel with(Kernel kernel, Parameters p) {
    for (size_t i = 0; i < kernel.parameters.size(); ++i) kernel.parameters[i] = p[i];
    return kernel;
}

ProductKernel plain(const EveryKernel& each) {
    ProductKernel out{.name = each.name,
                      .make =
                          [kernel = each.kernel](const Var& q, const Var& k, Parameters p) {
                              return Attended{q, k, {.kernel = with(kernel, p)}};
                          },
                      .direct = each.kernel.direct,
                      .has_sign = each.has_sign};
    for (const Var& p : each.kernel.parameters) out.parameters.push_back(p.value());
    return out;
}

}  // namespace

std::vector<ProductKernel> product_kernels(int64_t d, int64_t places) {
    std::vector<ProductKernel> out;
    for (const EveryKernel& each : every_kernel(d)) out.push_back(plain(each));
    out.push_back(plain(
        {"one's own, of key norms",
         log_kernel<Kernel::Norms::key>([](auto s, auto b) { return s * 0.5 - log(b + 1.0); })}));
    const Tensor w = sample(1, {d, d}, 1 / std::sqrt(double(d))),
                 u = sample(2, {d, d}, 1 / std::sqrt(double(d)));
    out.push_back({.name = "Luong's general",
                   .make =
                       [](const Var& q, const Var& k, Parameters p) {
                           return Attended{matmul(q, p[0]), k, {.kernel = dot_product(1)}};
                       },
                   .parameters = {w}});
    out.push_back({.name = "Luong's concat",
                   .make =
                       [](const Var& q, const Var& k, Parameters p) {
                           return Attended{matmul(q, p[1]), matmul(k, p[2]), {additive(p[0])}};
                       },
                   .parameters = {sample(3, {d}, 1), w, u}});
    for (const Kernel& kernel : {dot_product(), rbf()})
        out.push_back(
            {.name = std::string("product of ") + kernel.name + " and places",
             .make =
                 [kernel](const Var& q, const Var& k, Parameters p) {
                     return Attended{q, k, {.kernel = kernel, .position = Symmetric{p[0], 0}}};
                 },
             .parameters = {sample(4, {places, 6}, 0.8)}});
    for (const Kernel& kernel : {dot_product(), polynomial(2), rbf(), nadaraya_watson(1.5)})
        out.push_back({.name = std::string("symmetric ") + kernel.name,
                       .make =
                           [kernel](const Var& q, const Var&, Parameters p) {
                               const Var x = matmul(q, p[0]);
                               return Attended{x, x, {.kernel = kernel}};
                           },
                       .parameters = {w},
                       .direct = kernel.direct,
                       .symmetric = true});
    return out;
}

std::vector<ProductFilter> product_filters(int64_t t) {
    const int64_t l = t < 64 ? 3 : 16, c = t < 64 ? 1 : 4, memory = t / 2 + 1, half = t / 2,
                  more = t + t / 2 + 3;
    // A graph with a row without neighbours, one with all, and some of each.
    std::vector<int64_t> offsets{0}, columns;
    for (int64_t i = 0; i < t; ++i) {
        for (int64_t j = 0; j < t; ++j)
            if (i % 11 == 4 || (i % 5 != 2 && (i == j || (i * 7 + j * 5) % 6 == 0)))
                columns.push_back(j);
        offsets.push_back(int64_t(columns.size()));
    }
    const std::vector<std::pair<int64_t, int64_t>> listed{{0, 0}, {0, 3}, {2, 1}, {3, 3},
                                                          {4, 0}, {4, 9}, {5, 2}, {8, 8}};
    return {{"full", full(), t, t},
            {"cross, more keys", full(), t, more},
            {"cross, fewer keys", full(), t, half},
            {"causal", causal(), t, t},
            {"causal of the first", causal(0), t, t + 5},
            {"causal of the last", causal(half), t, t + half},
            {"causal, of fewer keys", causal(half - t), t, half},  // rows that see nothing
            {"window", window(9), t, t},
            {"memory", xl_memory(memory), t, t + memory},
            {"same length", same_length(memory, memory), t, t + memory},
            {"strided", strided(l), t, t},
            {"strided by head", by_head({strided_local(l), strided_summary(l)}), t, t, 1, 2},
            {"fixed", fixed(l, c), t, t},
            {"fixed by head", fixed(l, c, 2), t, t, 1, 2},
            {"earlier blocks", earlier_blocks(l, c), t, c * ((t + l - 1) / l)},
            {"padding", padding(numbers({t, t / 3})), t, t, 2, 1},
            {"packed", packed(numbers({0, t / 3, t / 3, t})), t, t},
            {"packed, cross", packed(numbers({0, half, t}), numbers({0, t / 4, t + 4})), t, t + 4},
            {"graph", graph(numbers(offsets), numbers(columns)), t, t},
            {"one's own",
             filter([](Seat s) { return (s.query + s.key + s.head) % 3 == 0; }, false, true), t, t,
             1, 2},
            {"blocks", blocks(t < 64 ? 2 : 30, t < 64 ? 1 : 25, listed), t, t},
            {"and", window(40) & padding(numbers({t, t / 2})), t, t, 2, 1},
            {"or", window(9) | strided_summary(l), t, t},
            {"by head", by_head({causal() & packed(numbers({0, half, t})), full()}), t, t, 1, 2}};
}

std::vector<ProductNormaliser> product_normalisers(int64_t heads, int64_t queries) {
    const auto fixed_ = [](Normaliser n) { return [n](Parameters) { return n; }; };
    const auto learned = [](Parameters p) { return entmax_weights(p[0]); };
    return {{"softmax", false, fixed_(softmax_weights())},
            {"sparsemax", false, fixed_(sparsemax_weights())},
            {"entmax 1.5", false, fixed_(entmax15_weights())},
            {"entmax", false, fixed_(entmax_weights(number(1.3)))},
            {"entmax, learned", false, learned, {number(1.7)}},
            {"entmax, of each row",
             false,
             learned,
             {uniform(Key{92, 90}, {heads, queries, 1}, DType::f64, 1.05, 2)}},
            {"division", true, fixed_(division())}};
}

}  // namespace mercer::test
