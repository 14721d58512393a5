// Places in sorted lists. Every search takes the same steps, without a branch, several side by side.
#include <algorithm>
#include <type_traits>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"

namespace mercer {
namespace {

constexpr int abreast = 16;  // searches at once: their steps do not wait for one another

/// to[l] = how many of list(l)[0, n) come before x[l]; inclusive: or are equal to it. NaN comes last, and equals itself.
template <bool inclusive, class T, class List>
void search(List list, int64_t n, const T* x, int64_t* to, int count) {
    const T *lists[abreast], *at[abreast];
    T v[abreast];
    for (int l = 0; l < abreast; ++l)
        lists[l] = at[l] = list(l < count ? l : 0), v[l] = x[l < count ? l : 0];
    const auto passes = [&](int l, int64_t k) -> int64_t {
        return inclusive ? at[l][k] <= v[l] : at[l][k] < v[l];
    };
    for (int64_t rest = n; rest > 1; rest -= rest / 2)
#pragma GCC unroll 16
        for (int l = 0; l < abreast; ++l) at[l] += passes(l, rest / 2 - 1) * (rest / 2);
    for (int l = 0; l < count; ++l) {
        to[l] = n ? at[l] - lists[l] + passes(l, 0) : 0;
        if (v[l] == v[l]) continue;
        const auto number = [](T b) { return b == b; };  // nothing passes NaN
        to[l] = inclusive ? n : std::partition_point(lists[l], lists[l] + n, number) - lists[l];
    }
}

}  // namespace

Tensor searchsorted(const Tensor& boundaries, const Tensor& x, bool right) {
    constexpr const char* name = "searchsorted";
    const OperationScope scope(name, {&boundaries, &x});
    require_numbers(name, x);
    require_same_dtype(name, boundaries, x, "boundaries", "x");
    const int last = boundaries.rank() - 1;
    bool fits = last == 0 || (last > 0 && x.rank() == boundaries.rank());
    for (int a = 0; fits && a < last; ++a) fits = boundaries.size(a) == x.size(a);
    if (!fits)
        throw ShapeError(name, "boundaries ", boundaries.shape(),
                         " must have one axis, or the axes of x ", x.shape(), " before the last");
    const Tensor out = Tensor::empty(x.shape(), DType::i64);
    if (out.count() == 0) return out;
    const Tensor lists = boundaries.contiguous(), dense = x.contiguous();
    const int64_t n = boundaries.size(last), m = last ? x.size(last) : x.count();
    int64_t* to = static_cast<int64_t*>(out.raw());
    visit(x.dtype(), [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            parallel_for(x.count(), grain_for(16), [&](int64_t begin, int64_t end) {
                const T *values = dense.data<T>(), *all = lists.data<T>();
                for (int64_t i = begin; i < end; i += abreast) {
                    const int count = int(std::min<int64_t>(abreast, end - i));
                    const auto list = [=](int l) { return all + (last ? (i + l) / m * n : 0); };
                    if (right)
                        search<true>(list, n, values + i, to + i, count);
                    else
                        search<false>(list, n, values + i, to + i, count);
                }
            });
    });
    return out;
}

}  // namespace mercer
