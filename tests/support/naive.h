// The oracle's tensors: row-major, long double, plain loops. Shares no code with the engine but
// Shape.
#pragma once

#include <functional>
#include <stdexcept>
#include <vector>

#include "engine/tensor.h"

namespace oracle {

using mercer::Shape;
using Real = long double;

struct Naive {
    Shape shape;
    std::vector<Real> at;
};

inline int64_t total(const Shape& s) {
    int64_t n = 1;
    for (int64_t x : s) n *= x;
    return n;
}

inline Naive make(const Shape& shape) {
    return {shape, std::vector<Real>(size_t(total(shape)), 0)};
}

/// Every index of `shape` in row-major order.
inline void each(const Shape& shape, const std::function<void(const Shape&, size_t)>& body) {
    Shape i = shape;
    for (int a = 0; a < shape.rank(); ++a) i[a] = 0;
    const int64_t n = total(shape);
    for (int64_t k = 0; k < n; ++k) {
        body(i, size_t(k));
        for (int a = shape.rank() - 1; a >= 0; --a) {
            if (++i[a] < shape[a]) break;
            i[a] = 0;
        }
    }
}

inline size_t place(const Shape& shape, const Shape& i) {
    int64_t p = 0;
    for (int a = 0; a < shape.rank(); ++a) p = p * shape[a] + i[a];
    return size_t(p);
}

/// The element that broadcasting brings to index i of a larger shape.
inline Real broadcast(const Naive& x, const Shape& i) {
    Shape own = x.shape;
    const int lead = i.rank() - x.shape.rank();
    for (int a = 0; a < own.rank(); ++a) own[a] = x.shape[a] == 1 ? 0 : i[lead + a];
    return x.at[place(x.shape, own)];
}

inline Shape joint(const Shape& a, const Shape& b) {
    Shape out = a.rank() >= b.rank() ? a : b;
    for (int k = 1; k <= out.rank(); ++k) {
        const int64_t x = k <= a.rank() ? a[a.rank() - k] : 1,
                      y = k <= b.rank() ? b[b.rank() - k] : 1;
        out[out.rank() - k] = x == 1 ? y : x;
    }
    return out;
}

inline Naive from(const mercer::Tensor& t) {
    Naive n{t.shape(), {}};
    for (double x : t.to_vector<double>()) n.at.push_back(x);
    return n;
}

}  // namespace oracle
