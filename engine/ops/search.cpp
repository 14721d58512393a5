// Places in sorted lists. Every search takes the same steps, without a branch, so that several go side by side.
#include <type_traits>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/parallel.h"

namespace mercer {
namespace {

/// How many of b[0, n) come before x; inclusive: or are equal to it. NaN comes last, and equals itself.
template <bool inclusive, class T>
int64_t before(const T* b, int64_t n, T x) {
    const auto passes = [x](T v) {
        if constexpr (inclusive) return (v <= x) | (x != x);
        return (v < x) | ((x != x) & (v == v));
    };
    const T* from = b;
    while (n > 1) {
        const int64_t half = n / 2;
        from = passes(from[half - 1]) ? from + half : from;
        n -= half;
    }
    return from - b + (n == 1 && passes(*from));
}

}  // namespace

Tensor searchsorted(const Tensor& boundaries, const Tensor& x, bool right) {
    constexpr const char* name = "searchsorted";
    const OperationScope scope(name, {&boundaries, &x});
    if (boundaries.dtype() != x.dtype() || x.dtype() == DType::boolean)
        throw DTypeError(name, "boundaries and x must be numbers of one dtype, got " +
                                   std::string(name_of(boundaries.dtype())) + " and " +
                                   std::string(name_of(x.dtype())) + "; use cast");
    const int last = boundaries.rank() - 1;
    bool fits = last == 0 || (last > 0 && x.rank() == boundaries.rank());
    for (int a = 0; fits && a < last; ++a) fits = boundaries.size(a) == x.size(a);
    if (!fits)
        throw ShapeError(name, "boundaries " + to_string(boundaries.shape()) +
                                   " must have one axis, or the axes of x " + to_string(x.shape()) +
                                   " before the last");
    const Tensor out = Tensor::empty(x.shape(), DType::i64);
    if (out.count() == 0) return out;
    const Tensor lists = boundaries.contiguous(), dense = x.contiguous();
    const int64_t n = boundaries.size(last), m = last ? x.size(last) : x.count();
    int64_t* to = static_cast<int64_t*>(out.raw());
    visit(x.dtype(), [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            parallel_for(x.count(), grain_for(8), [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    const T *list = lists.data<T>() + i / m * n, v = dense.data<T>()[i];
                    to[i] = right ? before<true>(list, n, v) : before<false>(list, n, v);
                }
            });
    });
    return out;
}

}  // namespace mercer
