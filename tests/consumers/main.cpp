// The program that every consumer builds: d(w²)/dw at 3, whichever way w is attended to.
#include <mercer/mercer.h>

#include <cstdio>

int main() {
    using namespace mercer;
    Tensor weight = Tensor::from({3.0f});
    Tape tape;
    Var w = tape.watch(weight);
    Var row = reshape(w, {1, 1, 1, 1});  // one query, one key: attention gives back the value
    Var loss = sum(square(attend(row, row, row, {.filter = causal()})));
    auto [g] = tape.gradient(loss, {w});
    std::printf("gradient %g\n", g.item<float>());
}
