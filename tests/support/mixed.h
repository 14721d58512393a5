// Numbers among which order is hard.
#pragma once

#include <limits>
#include <random>

#include "engine/tensor.h"

/// At most `different` numbers, a third of them odd ones: zeros of both signs, infinities, NaN, the ends of the range.
template <class T>
mercer::Tensor mixed(const mercer::Shape& shape, unsigned seed, int64_t different = 2000) {
    std::mt19937_64 random(seed);
    const mercer::Tensor x = mercer::Tensor::empty(shape, mercer::dtype_of<T>);
    T* const p = static_cast<T*>(x.raw());
    using limits = std::numeric_limits<T>;
    const T odd[] = {T(0),
                     T(-0.0),
                     limits::infinity(),
                     T(-limits::infinity()),
                     limits::quiet_NaN(),
                     T(-limits::quiet_NaN()),
                     limits::max(),
                     limits::lowest(),
                     T(1),
                     T(2)};
    for (int64_t i = 0; i < x.count(); ++i)
        p[i] = random() % 3
                   ? T(int64_t(random() % uint64_t(different)) - int64_t(different / 2)) / T(7)
                   : odd[random() % 10];
    return x;
}
