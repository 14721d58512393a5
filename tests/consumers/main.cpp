// The program that every consumer builds: d(w²)/dw at 3.
#include <mercer/mercer.h>

#include <cstdio>

int main() {
    using namespace mercer;
    Tensor weight = Tensor::from({3.0f});
    Tape tape;
    Var w = tape.watch(weight);
    Var loss = sum(square(w));
    auto [g] = tape.gradient(loss, {w});
    std::printf("gradient %g\n", g.item<float>());
}
