// 2. Reverse-mode differentiation in a hundred lines, from the standard library alone.
//
// A program that computes numbers is a list of steps y = f(a, b). Each step knows its own partial
// derivatives ∂y/∂a and ∂y/∂b when it is done; write them down. If ȳ is the derivative of the final
// result with respect to y, the chain rule says that the step adds ȳ·∂y/∂a to ā and ȳ·∂y/∂b to b̄.
// Walking the list backwards, every ȳ is complete when its step is met. That is all.
#include <cmath>
#include <cstdio>
#include <vector>

struct Step {
    int a, b;       // the steps that made the operands; -1: none
    double da, db;  // ∂y/∂a, ∂y/∂b
};

struct Tape {
    std::vector<Step> steps;

    int record(int a, double da, int b = -1, double db = 0) {
        steps.push_back({a, b, da, db});
        return int(steps.size()) - 1;
    }

    // d(step `from`)/d(every step). One pass, whatever the number of parameters.
    std::vector<double> gradient(int from) const {
        std::vector<double> bar(steps.size(), 0.0);
        bar[size_t(from)] = 1;
        for (size_t y = size_t(from) + 1; y-- > 0;) {
            const Step& s = steps[y];
            if (s.a >= 0) bar[size_t(s.a)] += bar[y] * s.da;
            if (s.b >= 0) bar[size_t(s.b)] += bar[y] * s.db;
        }
        return bar;
    }
};

// A number that remembers where it was computed.
struct Value {
    Tape* tape;
    int step;
    double x;
};

Value leaf(Tape& t, double x) { return {&t, t.record(-1, 0), x}; }
Value operator+(Value a, Value b) {
    return {a.tape, a.tape->record(a.step, 1, b.step, 1), a.x + b.x};
}
Value operator-(Value a, Value b) {
    return {a.tape, a.tape->record(a.step, 1, b.step, -1), a.x - b.x};
}
Value operator*(Value a, Value b) {
    return {a.tape, a.tape->record(a.step, b.x, b.step, a.x), a.x * b.x};
}
Value operator*(double c, Value a) { return {a.tape, a.tape->record(a.step, c), c * a.x}; }
Value tanh(Value a) {
    const double y = std::tanh(a.x);
    return {a.tape, a.tape->record(a.step, 1 - y * y), y};
}

// A network that learns exclusive or: two inputs, eight hidden units, one output.
constexpr int inputs = 2, hidden = 8, parameters = hidden * (inputs + 2) + 1;
constexpr double examples[4][inputs + 1] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};

Value network(const std::vector<Value>& p, const double* x) {
    const Value *w = &p[0], *b = &p[hidden * inputs], *v = b + hidden, *c = v + hidden;
    Value y = *c;
    for (int h = 0; h < hidden; ++h) {
        Value sum = b[h];
        for (int i = 0; i < inputs; ++i) sum = sum + x[i] * w[i * hidden + h];
        y = y + v[h] * tanh(sum);
    }
    return y;
}

int main() {
    std::vector<double> p(parameters);
    for (int k = 0; k < parameters; ++k) p[size_t(k)] = std::sin(k + 1);
    double loss_now = 0;
    for (int step = 0; step <= 500; ++step) {
        Tape tape;
        std::vector<Value> leaves;
        for (double x : p) leaves.push_back(leaf(tape, x));
        Value loss = leaf(tape, 0);
        for (const auto& example : examples) {
            const Value error = network(leaves, example) - leaf(tape, example[inputs]);
            loss = loss + 0.25 * (error * error);
        }
        const std::vector<double> bar = tape.gradient(loss.step);
        for (int k = 0; k < parameters; ++k)
            p[size_t(k)] -= 0.1 * bar[size_t(leaves[size_t(k)].step)];
        loss_now = loss.x;
        if (step % 100 == 0)
            std::printf("step %3d: %zu steps on the tape, loss %.12f\n", step, tape.steps.size(),
                        loss_now);
    }
    return loss_now < 1e-3 ? 0 : 1;
}
