// What works on rows: forward, and the gradients of all that is differentiable.
#include <memory>

#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

constexpr int64_t rows = 4096, columns = 1024;
constexpr double all = double(rows * columns);

// f of x [rows, columns], of `parameters` of one row and of a `constant`, if there is one; memory
// sees x `fwd` times forward, in tensors of its size, and `bwd` times backward.
template <class F>
void add(const std::string& name, double fwd, double bwd, int parameters, F f,
         const char* bound = "", const Tensor& constant = {},
         const Shape& shape = {rows, columns}) {
    std::string size = "/";
    for (int a = 0; a < shape.rank(); ++a) size += (a ? "x" : "") + std::to_string(shape[a]);
    const int64_t width = shape.rank() == 2 ? columns : shape[1];
    const auto operands = [=](DType dtype) {
        std::vector<Tensor> x{randn(Key{1, 0}, shape, dtype)};
        for (int k = 1; k <= parameters; ++k)
            x.push_back(randn(Key{1, uint64_t(k)}, {width}, dtype));
        return x;
    };
    const auto add_constant = [constant](std::vector<Var>& x) {
        if (constant.defined()) x.push_back(Var(cast(constant, x[0].dtype())));
    };
    add_op(name + size + " fwd", {.bytes = elements(fwd * all), .bound = bound}, [=](DType dtype) {
        const std::vector<Tensor> x = operands(dtype);
        std::vector<Var> v(x.begin(), x.end());
        add_constant(v);
        return [f, v] { benchmark::DoNotOptimize(f(v)); };
    });
    if (bwd == 0) return;
    add_op(name + size + " bwd", {.bytes = elements(bwd * all), .bound = bound}, [=](DType dtype) {
        auto tape = std::make_shared<Tape>();
        std::vector<Var> x;
        for (const Tensor& t : operands(dtype)) x.push_back(tape->watch(t));
        std::vector<Var> all_of(x);
        add_constant(all_of);
        const Var y = f(all_of);
        const GradientOptions options{.retain = true,
                                      .cotangents = {randn(Key{1, 9}, y.shape(), dtype)}};
        return [=] { benchmark::DoNotOptimize(tape->gradient(y, x, options)); };
    });
}

}  // namespace

void add_ops_rows() {
    using Vars = std::vector<Var>;
    const Tensor ids = cast(uniform(Key{1, 7}, {rows}, DType::f64, 0, double(columns)), DType::i64);
    add("softmax", 2, 3, 0, [](const Vars& x) { return softmax(x[0]); });
    add("log_softmax", 2, 3, 0, [](const Vars& x) { return log_softmax(x[0]); });
    constexpr const char* exponential = "copy; f64: the exponential";
    const Shape planes{16, 64, 64, 64}, short_rows{rows * columns / 16, 16};
    add(
        "softmax over axis 1", 2, 3, 0, [](const Vars& x) { return softmax(x[0], 1); },
        "copy; f64 fwd: the exponential", {}, planes);
    add(
        "log_softmax over axis 1", 2, 3, 0, [](const Vars& x) { return log_softmax(x[0], 1); },
        exponential, {}, planes);
    add(
        "softmax of short rows", 2, 3, 0, [](const Vars& x) { return softmax(x[0]); },
        "turning rows into registers", {}, short_rows);
    add("logsumexp", 1, 2, 0, [](const Vars& x) { return logsumexp(x[0], {-1}); });
    add(
        "logsumexp over axis 1", 1, 2, 0, [](const Vars& x) { return logsumexp(x[0], {1}); },
        exponential, {}, planes);
    // Of each row the result, its largest element and its sum.
    add("logsumexp of short rows", 1 + 3.0 / 8, 2 + 3.0 / 8, 0,
        [](const Vars& x) { return logsumexp(x[0], {-1}); }, "turning rows into registers", {},
        {rows * columns / 8, 8});
    add("cross_entropy", 1, 2, 0, [ids](const Vars& x) { return cross_entropy(x[0], ids); });
    add(
        "sparsemax", 2, 3, 0, [](const Vars& x) { return sparsemax(x[0]); },
        "the threshold's passes");
    add(
        "entmax15", 2, 3, 0, [](const Vars& x) { return entmax15(x[0]); },
        "the threshold's passes");
    add(
        "entmax", 2, 3, 0,
        [](const Vars& x) { return entmax(x[0], Tensor::scalar(1.3, x[0].dtype())); },
        "a logarithm and an exponential each");
    add(
        "fenchel_young", 2, 3, 0, [](const Vars& x) { return fenchel_young(x[0], x[1].value()); },
        "the threshold's passes", softmax(randn(Key{1, 8}, {rows, columns}, DType::f64)));
    add(
        "dropout", 2, 2, 0,
        [](const Vars& x) {
            return dropout(x[0], 0.1, Key{1, 2});
        },
        "Philox");
    add("embedding", 2, 2, 0, [ids](const Vars& x) { return embedding(x[0], ids); });
    const Tensor other = randn(Key{1, 6}, {rows, columns}, DType::f64);
    const auto pair = [&](const std::string& name, auto f, const char* bound = "") {
        add(
            name, 2, 3, 0, [f](const Vars& x) { return f(x[0], x[1]); }, bound, abs(other));
    };
    pair("mse_loss", [](const Var& x, const Var& y) { return mse_loss(x, y); });
    pair("l1_loss", [](const Var& x, const Var& y) { return l1_loss(x, y); });
    pair("huber_loss", [](const Var& x, const Var& y) { return huber_loss(x, y); });
    pair(
        "bce_with_logits", [](const Var& x, const Var& y) { return bce_with_logits(x, y); },
        "the function's arithmetic");
    pair("kl_div", [](const Var& x, const Var& y) { return kl_div(x, y.value()); });
    add(
        "nll_loss", 0.01, 1, 0, [ids](const Vars& x) { return nll_loss(x[0], ids); },
        "random access");
    add("layer_norm", 2, 3, 2, [](const Vars& x) { return layer_norm(x[0], x[1], x[2]); });
    const Shape images{16, 64, 64, 64};  // as many elements
    for (const Shape& shape : {Shape{rows, columns}, images}) {
        add(
            "batch_norm", 2, 3, 2, [](const Vars& x) { return batch_norm(x[0], x[1], x[2])[0]; },
            "", {}, shape);
        add(
            "batch_norm_inference", 2, 3, 2,
            [](const Vars& x) {
                return batch_norm_inference(x[0], x[1], square(x[2]), x[2], x[1]);
            },
            "", {}, shape);
    }
    add(
        "group_norm", 2, 3, 2, [](const Vars& x) { return group_norm(x[0], 8, x[1], x[2]); }, "",
        {}, images);
    add("rms_norm", 2, 3, 1, [](const Vars& x) { return rms_norm(x[0], x[1]); });
}

}  // namespace mercer::bench
