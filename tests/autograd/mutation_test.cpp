// Mutation testing of derivatives: every operation's vjp is broken in every way of a list, and the
// check has to notice. Two levels:
//   - what the vjp hands to one input: by gradcheck, with a wrong identity before the operation;
//   - each step of the vjp's own text, as create_graph records it: by a hook that changes it.
// Mutations: the sign flipped, the term dropped, the argument transposed.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "autograd/call.h"
#include "autograd/custom.h"
#include "autograd/gradcheck.h"
#include "tests/cases.h"

using namespace mercer;

namespace {

enum Mutation { flipped, dropped, transposed, mutations };
constexpr const char* name_of_mutation[] = {"sign flip", "dropped term", "transposed argument"};

// Largest error of a, relative to the largest entry of b: what gradcheck compares.
double error(const Tensor& a, const Tensor& b) {
    if (b.count() == 0) return 0;
    return max(abs(a - b)).item<double>() / std::max(1e-3, max(abs(b)).item<double>());
}
double error(const Var& a, const Var& b) { return error(a.value(), b.value()); }

// Elements in another order: of square matrices their transpose, else (and where that is the same)
// back to front.
template <class X>
X turned(const X& x) {
    const int n = x.rank();
    if (n >= 2 && x.size(n - 1) == x.size(n - 2))
        if (const X t = transpose(x); error(t, x) > 1e-5) return t;
    return reshape(flip(reshape(x, {x.count()}), 0), x.shape());
}

template <class X>
X mutated(const X& x, Mutation m) {
    return m == flipped ? -x : m == dropped ? x * 0.0 : turned(x);
}

std::string operation_of(const cases::Case& c) { return c.name.substr(0, c.name.find(' ')); }

struct Score {
    int tried = 0, caught = 0, without_effect = 0;
    std::string survivor;
};
using Scores = std::map<std::string, std::array<Score, mutations>>;

void report(const std::string& level, const Scores& scores) {
    Score all;
    for (const auto& [name, row] : scores)
        for (const Score& s : row) {
            all.tried += s.tried;
            all.caught += s.caught;
            all.without_effect += s.without_effect;
        }
    MESSAGE(level << ": " << all.tried << " mutants at " << scores.size() << " places, "
                  << all.caught << " caught, " << all.without_effect << " change no value there, "
                  << all.tried - all.caught - all.without_effect
                  << " leave the gradient as it is in that case");
}

// Operations whose derivative is zero wherever it exists.
bool is_step(std::string_view operation) {
    constexpr std::string_view steps[] = {"ceil", "floor", "round", "sign", "trunc"};
    return std::ranges::find(steps, operation) != std::end(steps);
}

}  // namespace

TEST_CASE("what a vjp gives to each input") {
    Scores scores;
    std::map<std::string, int> used;
    for (const cases::Case& c : cases::small()) {
        const std::string operation = operation_of(c);
        if (!c.differentiable || is_step(operation)) continue;
        const std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        if (used[operation] >= (MERCER_EMULATED ? 1 : 4)) continue;
        int64_t elements = 0;
        for (const Tensor& x : inputs) elements = std::max(elements, x.count());
        if (elements < 2 || elements > 60) continue;
        ++used[operation];
        for (size_t i = 0; i < inputs.size(); ++i)
            for (int m = 0; m < mutations; ++m) {
                Score& s = scores[operation][size_t(m)];
                bool changed = false;
                const auto wrong = custom(
                    "mutant", [](const Tensor& x) { return x.clone(); },
                    [&](auto& v) {
                        const auto g = mutated(v.g(), Mutation(m));
                        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Vjp<Tensor>>)
                            changed = changed || error(g, v.g()) > 1e-5;
                        v.give(0, g);
                    },
                    0);
                const GradcheckReport r = gradcheck(
                    [&](std::span<const Var> x) {
                        std::vector<Var> at(x.begin(), x.end());
                        at[i] = wrong(x[i]);
                        return c.f(at);
                    },
                    inputs, {.second_order = false});
                ++s.tried;
                s.caught += !r.ok;
                s.without_effect += r.ok && !changed;
                if (r.ok && changed) s.survivor = c.name + ", input " + std::to_string(i);
            }
    }
    report("what is given to inputs", scores);
    for (const auto& [operation, row] : scores)
        for (int m = 0; m < mutations; ++m) {
            const Score& s = row[size_t(m)];
            const int unnoticed = s.tried - s.caught - s.without_effect;
            CHECK_MESSAGE(unnoticed == 0, operation, ": ", unnoticed, " of ", s.tried, " mutants (",
                          std::string(name_of_mutation[m]), ") go unnoticed, such as ", s.survivor);
        }
    for (const Callable& f : callables())
        if (f.differentiable && !is_step(f.info->name) &&
            !MERCER_EMULATED) {  // there few cases run
            const std::string name(f.info->name);
            for (int m = 0; m < mutations; ++m)
                CHECK_MESSAGE(scores[name][size_t(m)].caught > 0, name, ": no mutant of kind ",
                              std::string(name_of_mutation[m]), " was caught");
        }
}

TEST_CASE("each step of a vjp's text") {
    Scores scores;
    for (const cases::Case& c : cases::small()) {
        if (!c.differentiable) continue;
        const std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        Tape tape;
        std::vector<Var> x;
        // Records c, and its gradient with step `at` of it mutated (none if negative).
        int steps = 0;
        std::string step;
        bool changed = false;
        std::vector<Tensor> eager;
        const auto gradient = [&](int at, Mutation m) {
            tape.on_value({});
            tape.reset();
            x.clear();
            for (const Tensor& t : inputs) x.push_back(tape.watch(t));
            const Var y = c.f(x);
            std::vector<Var> out;
            if (y.is_constant()) return out;
            const Tensor u = randn(Key{31, 7}, y.shape(), DType::f64);
            if (at < 0) eager = tape.gradient(y, x, {.retain = true, .cotangents = {u}});
            steps = 0, changed = false;
            tape.on_value([&](std::string_view operation, const Var& value) {
                if (steps++ != at) return Var();
                step = operation;
                const Var other = mutated(value, m);
                changed = error(other.value(), value.value()) > 1e-5;
                return other;
            });
            return tape.gradient(y, x, CreateGraph{{u}});
        };
        const std::vector<Var> right = gradient(-1, flipped);
        for (size_t i = 0; i < right.size(); ++i)
            CHECK_MESSAGE(error(right[i].value(), eager[i]) < 1e-9, c.name, ", input ", i,
                          ": the recorded gradient is not that of the values");
        const int n = steps;
        for (int at = 0; at < n; ++at)
            for (int m = 0; m < mutations; ++m) {
                bool caught = false;
                try {
                    const std::vector<Var> g = gradient(at, Mutation(m));
                    for (size_t i = 0; i < g.size(); ++i)
                        caught = caught || !(error(g[i].value(), eager[i]) <= 1e-6);
                } catch (const NumericalError&) {  // a singular matrix
                    caught = true;
                }
                Score& s = scores[operation_of(c) + ": " + step][size_t(m)];
                ++s.tried;
                s.caught += caught;
                s.without_effect += !caught && !changed;
                if (!caught && changed) s.survivor = c.name + ", step " + std::to_string(at);
            }
    }
    report("steps", scores);
    // A step may be without influence in one case (its result not asked for, a sum over what was
    // turned), but not in all of them.
    if (MERCER_EMULATED) return;  // too few cases run
    for (const auto& [place, row] : scores)
        for (const int m : {flipped, dropped}) {
            const Score& s = row[size_t(m)];
            if (place == "inverse: permute" && m == flipped)
                continue;  // −A⁻ᵀ ȳ A⁻ᵀ: it stands there twice
            CHECK_MESSAGE((s.caught > 0 || s.without_effect == s.tried), place, ": ",
                          std::string(name_of_mutation[m]), " is never noticed, as in ",
                          s.survivor);
        }
}
