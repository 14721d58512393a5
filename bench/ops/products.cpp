// Matrix products of every shape: square, transposed, batched, tall, wide, with vectors; and einsum.
#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

/// f(a, b) of 2·m·n·k·batch flops; `elements_moved`: both operands and the result.
void add(const std::string& name, const Shape& a, const Shape& b, double flops, double moved,
         Tensor (*f)(const Tensor&, const Tensor&), const char* bound = "") {
    add_op(name, {.flops = flops, .bytes = elements(moved), .bound = bound}, [=](DType dtype) {
        return [f, x = randn(Key{1, 1}, a, dtype), y = randn(Key{1, 2}, b, dtype)] {
            benchmark::DoNotOptimize(f(x, y));
        };
    });
}

}  // namespace

void add_ops_products() {
    const auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
    const double n = 1024, n2 = n * n, n3 = n2 * n;
    const Shape square{1024, 1024};
    add("matmul/1024", square, square, 2 * n3, 3 * n2, product);
    add("matmul/1024 left transposed", square, square, 2 * n3, 3 * n2,
        [](const Tensor& a, const Tensor& b) { return matmul(transpose(a), b); });
    add("matmul/1024 right transposed", square, square, 2 * n3, 3 * n2,
        [](const Tensor& a, const Tensor& b) { return matmul(a, transpose(b)); });
    add("matmul/1024 both transposed", square, square, 2 * n3, 3 * n2,
        [](const Tensor& a, const Tensor& b) { return matmul(transpose(a), transpose(b)); });
    add("linear/1024 with gelu", square, square, 2 * n3, 3 * n2,
        [](const Tensor& a, const Tensor& b) {
            return linear(a, b, Tensor::zeros({1024}, a.dtype()), Activation::gelu);
        });
    add("matmul/64 of 128x64x128", {64, 128, 64}, {64, 64, 128}, 64 * 2.0 * 128 * 64 * 128,
        64 * (2 * 128.0 * 64 + 128 * 128), product);
    add("matmul/4096 of 8x8x8", {4096, 8, 8}, {4096, 8, 8}, 4096 * 2.0 * 512, 4096 * 3 * 64.0,
        product);
    const char* const turned = "turning matrices into lanes, and back";
    add("matmul/262144 of 4x4x4", {1 << 18, 4, 4}, {1 << 18, 4, 4}, (1 << 18) * 2.0 * 64,
        (1 << 18) * 48.0, product, turned);
    add("matmul/262144 of 4x4 by a column", {1 << 18, 4, 4}, {1 << 18, 4, 1}, (1 << 18) * 2.0 * 16,
        (1 << 18) * 24.0, product, turned);
    add("matmul/65536x64x64 tall", {65536, 64}, {64, 64}, 2 * 65536.0 * 64 * 64,
        2 * 65536.0 * 64 + 64 * 64, product);
    add("matmul/64x65536x64 long", {64, 65536}, {65536, 64}, 2 * 65536.0 * 64 * 64,
        2 * 65536.0 * 64, product);
    add("matmul/16x2048x2048 skinny", {16, 2048}, {2048, 2048}, 2 * 16.0 * 2048 * 2048,
        2048.0 * 2048 + 32 * 2048, product);
    add("matmul/2048x2048 by a column", {2048, 2048}, {2048}, 2 * 2048.0 * 2048, 2048.0 * 2048,
        product);
    add("matmul/a row by 2048x2048", {2048}, {2048, 2048}, 2 * 2048.0 * 2048, 2048.0 * 2048,
        product);
    add("matmul/32x128x256 by 256x256", {32, 128, 256}, {256, 256}, 2 * 4096.0 * 256 * 256,
        2 * 4096.0 * 256 + 65536, product);
    add("einsum/ij,jk->ik 1024", square, square, 2 * n3, 3 * n2,
        [](const Tensor& a, const Tensor& b) {
            return einsum("ij,jk->ik", std::vector<Tensor>{a, b});
        });
    add("einsum/bthd,bshd->bhts 8x256x8x64", {8, 256, 8, 64}, {8, 256, 8, 64},
        64 * 2.0 * 256 * 256 * 64, 2 * 64 * 256.0 * 64 + 64 * 256.0 * 256,
        [](const Tensor& a, const Tensor& b) {
            return einsum("bthd,bshd->bhts", std::vector<Tensor>{a, b});
        });
    const double all = 4096 * 1024.0;
    add("einsum/ij,ij->i 4096x1024", {4096, 1024}, {4096, 1024}, 2 * all, 2 * all,
        [](const Tensor& a, const Tensor& b) {
            return einsum("ij,ij->i", std::vector<Tensor>{a, b});
        });
    add("einsum/ij,ij->j 4096x1024", {4096, 1024}, {4096, 1024}, 2 * all, 2 * all,
        [](const Tensor& a, const Tensor& b) {
            return einsum("ij,ij->j", std::vector<Tensor>{a, b});
        });
    add("einsum/ijk->j 128x256x128", {128, 256, 128}, {1}, 0, 128 * 256 * 128.0,
        [](const Tensor& a, const Tensor&) { return einsum("ijk->j", std::vector<Tensor>{a}); });
}

}  // namespace mercer::bench
