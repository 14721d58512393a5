#include "tests/cases.h"

#include <limits>
#include <map>

#include "engine/random.h"
#include "tests/cases/families.h"
#include "tests/support/emulated.h"

namespace cases {
namespace {

using namespace mercer;

const char* layout_name(Layout layout) {
    constexpr const char* names[] = {"dense", "transposed", "stepped", "reversed", "expanded"};
    return names[int(layout)];
}

std::vector<Case> all(bool big) {
    std::vector<Case> list;
#define FAMILY(name) add_##name(list, big);
#include "tests/case_families.inc"
#undef FAMILY
    if (emulated) {
        std::map<std::string, size_t> seen;
        const size_t whole = list.size(), first = big ? 1 : 3;
        std::erase_if(list, [&](const Case& c) {
            const size_t k = seen[c.name.substr(0, c.name.find(' '))]++;
            return k >= first && k % 8 != 0;
        });
        reduced_under_emulation((std::to_string(list.size()) + " of " + std::to_string(whole) +
                                 (big ? " large cases" : " small cases"))
                                    .c_str());
    }
    return list;
}

}  // namespace

std::string describe(const std::string& operation, const std::vector<Input>& inputs) {
    std::string text = operation;
    for (const Input& i : inputs) {
        text += " " + to_string(i.shape);
        if (i.layout != Layout::dense) text += std::string(" ") + layout_name(i.layout);
    }
    return text;
}

std::vector<Tensor> make_inputs(const Case& c, DType dtype, uint64_t seed) {
    std::vector<Tensor> out;
    for (size_t k = 0; k < c.inputs.size(); ++k) {
        const Input& in = c.inputs[k];
        Shape base = in.shape;
        const int last = base.rank() - 1;
        if (in.layout == Layout::transposed) std::swap(base[last], base[last - 1]);
        if (in.layout == Layout::stepped) base[last] *= 2;
        if (in.layout == Layout::expanded) base[last] = 1;
        Tensor t = randn(Key{seed, k}, base, DType::f64);
        if (in.domain == Domain::positive) t = abs(t) * 0.5 + 0.25;
        if (in.domain == Domain::nonzero) t = where(equal(t, abs(t)), t + 0.25, t - 0.25);
        if (in.domain == Domain::unit) t = sigmoid(t) * 0.9 + 0.05;
        if (in.domain == Domain::correlation) t = tanh(t) * 0.8;
        if (in.domain == Domain::strong) t = tanh(t * 2.0);
        if (in.domain == Domain::beyond) t = abs(t) + 1.25;
        t = cast(t, dtype);
        if (in.layout == Layout::transposed) t = transpose(t);
        if (in.layout == Layout::stepped) t = slice(t, -1, 0, base[last], 2);
        if (in.layout == Layout::reversed)
            t = slice(t, -1, -1, std::numeric_limits<int64_t>::min(), -1);
        if (in.layout == Layout::expanded) t = broadcast_to(t, in.shape);
        out.push_back(t);
    }
    return out;
}

const std::vector<Case>& small() {
    static const std::vector<Case> list = all(false);
    return list;
}

const std::vector<Case>& large() {
    static const std::vector<Case> list = all(true);
    return list;
}

}  // namespace cases
