// Equality of results to the last bit; NaN equals NaN, whatever its payload.
#pragma once

#include <cmath>
#include <cstring>
#include <string>

#include "engine/tensor.h"

/// "" when equal, else the first difference.
inline std::string difference(const mercer::Tensor& a, const mercer::Tensor& b) {
    using namespace mercer;
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype())
        return "shapes or dtypes differ: " + to_string(a.shape()) + " and " + to_string(b.shape());
    const Tensor x = a.contiguous(), y = b.contiguous();
    return visit(a.dtype(), [&]<class T>(T) -> std::string {
        const T *p = static_cast<const T*>(x.raw()), *q = static_cast<const T*>(y.raw());
        for (int64_t i = 0; i < x.count(); ++i) {
            if (std::memcmp(p + i, q + i, sizeof(T)) == 0) continue;
            if (p[i] != p[i] && q[i] != q[i]) continue;
            return "element " + std::to_string(i) + ": " + std::to_string(double(p[i])) + " and " +
                   std::to_string(double(q[i])) + ", apart by " +
                   std::to_string(double(p[i]) - double(q[i]));
        }
        return "";
    });
}
