// Few elements go short ways, without a plan: the bits that the long ways give.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;
const std::vector<std::pair<const char*, Binary>> binary{
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"div", [](const Tensor& a, const Tensor& b) { return a / b; }},
    {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }},
    {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); }},
    {"dying", [](const Tensor& a, const Tensor& b) { return a.clone() - b.clone(); }},
    {"where", [](const Tensor& a, const Tensor& b) { return where(less(a, b), a, b); }},
};

/// Element by element, from its place in memory.
std::string compare_elements(const Tensor& found, const Tensor& x) {
    return visit_stored(x.dtype(), [&]<class T>(T) -> std::string {
        const T *from = x.data<T>(), *at = found.data<T>();
        std::vector<int64_t> index(size_t(x.rank()), 0);
        for (int64_t i = 0; i < x.count(); ++i) {
            int64_t place = 0;
            for (int a = 0; a < x.rank(); ++a) place += index[size_t(a)] * x.strides()[a];
            if (std::memcmp(at + i, from + place, sizeof(T)) != 0)
                return "element " + std::to_string(i);
            for (int a = x.rank() - 1; a >= 0 && ++index[size_t(a)] == x.shape()[a]; --a)
                index[size_t(a)] = 0;
        }
        return "";
    });
}

}  // namespace

TEST_CASE("numbers, rows and columns are repeated as their copies are") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Shape& shape :
             {Shape{4, 8}, Shape{1, 5}, Shape{63, 3}, Shape{64, 3}, Shape{2, 3, 17}, Shape{9}}) {
            const Tensor x = uniform(Key{1, 2}, shape, dtype, 0.5, 2);
            const int last = shape.rank() - 1;
            std::vector<Shape> others{{}, {1}, {shape[last]}};
            for (int a = 0; a <= last; ++a) {
                others.push_back(shape);
                others.back()[a] = 1;
            }
            for (const Shape& other : others) {
                const Tensor y = uniform(Key{1, 3}, other, dtype, 0.5, 2),
                             whole = broadcast_to(y, shape).contiguous();
                for (const auto& [name, f] : binary) {
                    CAPTURE(name);
                    CAPTURE(to_string(shape));
                    CAPTURE(to_string(other));
                    on_every_isa([&] {
                        CHECK(difference(f(x, y), f(x, whole)) == "");
                        CHECK(difference(f(y, x), f(whole, x)) == "");
                    });
                }
            }
        }
}

TEST_CASE("repeated, reversed and sliced operands are what their copies are") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (int axis = 0; axis < 3; ++axis)
            for (const int64_t step : {0, -1, 2}) {
                Shape shape{2, 3, 4};
                shape[axis] = step == 0 ? 1 : 5;
                const Tensor x = uniform(Key{1, 5}, shape, dtype, 0.5, 2),
                             part = step == 0
                                        ? broadcast_to(x, {2, 3, 4})
                                        : slice(x, axis, step < 0 ? 4 : 0, step < 0 ? -6 : 5, step),
                             whole = part.contiguous();
                on_every_isa([&] {
                    CHECK(difference(exp(part), exp(whole)) == "");
                    for (const auto& [name, f] : binary) {
                        CAPTURE(name);
                        CHECK(difference(f(part, part), f(whole, whole)) == "");
                        CHECK(difference(f(part, whole), f(whole, whole)) == "");
                    }
                });
            }
}

TEST_CASE("small copies hold every element, in whatever order the axes lie") {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::bf16})
        for (const Shape& shape :
             {Shape{7}, Shape{3, 5}, Shape{16, 20}, Shape{5, 1, 7}, Shape{2, 3, 4},
              Shape{17, 18, 3}, Shape{2, 3, 4, 5}, Shape{2, 1, 2, 3, 2}}) {
            const Tensor x = cast(randn(Key{1, 4}, shape, DType::f64) * 9.0, dtype);
            std::vector<int> axes(size_t(shape.rank()));
            std::iota(axes.begin(), axes.end(), 0);
            do {
                const Tensor turned = permute(x, axes);
                const Tensor back = slice(turned, 0, turned.size(0), -turned.size(0) - 1, -1);
                CAPTURE(to_string(dtype, turned.shape()));
                on_every_isa([&] {
                    CHECK(compare_elements(turned.clone(), turned) == "");
                    CHECK(compare_elements(back.clone(), back) == "");
                });
            } while (std::next_permutation(axes.begin(), axes.end()));
        }
}
