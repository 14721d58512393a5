// 3. The same network on the real tape: each step is an operation on whole tensors, and the losses
// are those of 02_autodiff. Then what a hundred lines do not have.
#include <mercer/mercer.h>

#include <cstdio>

using namespace mercer;

namespace {

constexpr int64_t inputs = 2, hidden = 8;

Var network(const Var& x, std::span<const Var> p) {  // p: w (2,8), b (8), v (8,1), c (1)
    return matmul(tanh(matmul(x, p[0]) + p[1]), p[2]) + p[3];
}

// sin(first), sin(first + 1), … in a shape.
Tensor sines(double first, const Shape& shape) {
    return reshape(sin(Tensor::arange(count(shape), DType::f64, first)), shape);
}

}  // namespace

int main() {
    const Tensor x = Tensor::from(std::vector<double>{0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}),
                 target = Tensor::from(std::vector<double>{0, 1, 1, 0}, {4, 1});
    std::vector<Tensor> p{sines(1, {inputs, hidden}), sines(17, {hidden}), sines(25, {hidden, 1}),
                          sines(33, {1})};

    const auto loss_of = [&](std::span<const Var> at) {
        return mean(square(network(x, at) - target));
    };

    // Training: watch the parameters on a fresh (or reset) tape, ask for the gradient, step.
    Tape tape;
    double loss_now = 0;
    for (int step = 0; step <= 500; ++step) {
        tape.reset();
        std::vector<Var> at;
        for (const Tensor& t : p) at.push_back(tape.watch(t));
        const Var loss = loss_of(at);
        const size_t operations = tape.operations();
        const std::vector<Tensor> g = tape.gradient(loss, at);
        for (size_t k = 0; k < p.size(); ++k) p[k] = p[k] - g[k] * 0.1;
        loss_now = loss.item<double>();
        if (step % 100 == 0)
            std::printf("step %3d: %2zu operations on the tape, loss %.12f\n", step, operations,
                        loss_now);
    }

    // Is the gradient right? Against differences of values, and the second order as well.
    const GradcheckReport check = gradcheck(loss_of, p);
    std::printf("gradcheck: %s, largest relative error %.1e, second order %.1e\n",
                check.ok ? "right" : check.failure.c_str(), check.first_error, check.second_error);

    // Gradients of gradients: a recorded gradient stands on the tape like anything else.
    tape.reset();
    const Var t = tape.watch(Tensor::scalar(2, DType::f64));
    const auto [first] = tape.gradient(t * t * t, {t}, create_graph);
    const auto [second] = tape.gradient(first, {t});
    std::printf("d²(t³)/dt² at 2: %g\n", second.item<double>());

    // What curves the loss along its own gradient? One product with the Hessian, which is never built.
    const std::vector<Tensor> direction{
        Tensor::ones({inputs, hidden}, DType::f64), Tensor::zeros({hidden}, DType::f64),
        Tensor::zeros({hidden, 1}, DType::f64), Tensor::zeros({1}, DType::f64)};
    const std::vector<Tensor> curved = hvp(loss_of, p, direction);
    std::printf("curvature along w: %.6f\n", sum(curved[0] * direction[0]).item<double>());

    // One's own operation, from its values and its derivative; and the kernel that map() makes of a formula.
    const auto cube = custom(
        "cube", [](const Tensor& a) { return a * a * a; },
        [](auto& c) { c.give(0, c.g() * square(c.in(0)) * 3.0); });
    const auto cube_by_formula = [](auto a) { return a * a * a; };
    tape.reset();
    const Var u = tape.watch(Tensor::from({1.0f, 2.0f}));
    std::printf("slopes of the cube: %s and %s\n",
                tape.gradient(sum(cube(u)), {u})[0].to_string().c_str(),
                tape.gradient(sum(map(cube_by_formula, u)), {u})[0].to_string().c_str());

    // Where does memory go? And what if a piece is computed twice instead of kept?
    tape.reset();
    const Var wide = tape.watch(randn(Key{1, 1}, {256, 64}));
    const auto piece = [](const Var& a) { return tanh(exp(a * 0.1)) * sigmoid(a); };
    const Var kept = piece(wide);
    const size_t all = tape.saved_bytes();
    const Var again = checkpoint(piece, wide);
    std::printf("kept for backward: %zu KiB, with a checkpoint %zu KiB\n", all / 1024,
                (tape.saved_bytes() - all) / 1024);

    return check.ok && loss_now < 1e-3 ? 0 : 1;
}
