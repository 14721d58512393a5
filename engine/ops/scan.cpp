#include "engine/ops/scan.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/error.h"
#include "engine/ops/scan_lines.h"

namespace mercer {

MERCER_DISPATCH(cpu::ScanTable, scan_table)

namespace {

// A constant: the order of sums must not depend on threads.
constexpr int64_t chunk = 1 << 14;

/// Products of floats (scan_kernels.cpp).
bool step_by_step(cpu::Scan op, DType dtype) { return op == cpu::Scan::prod && is_floating(dtype); }

/// As the kernels join; of extrema NaN stays.
template <class T>
T joined(cpu::Scan op, T a, T b) {
    switch (op) {
        case cpu::Scan::prod: return T(a * b);
        case cpu::Scan::max: return a >= b || a != a ? a : b;
        case cpu::Scan::min: return a <= b || a != a ? a : b;
        case cpu::Scan::sum: break;
    }
    return T(a + b);
}

void scan_side_by_side(cpu::Scan op, const ScanAttrs& attrs, const Tensor& x, const Tensor& out) {
    const auto kernel = scan_table().joins[int(op)][int(x.dtype())].turned;
    const SideBySide source(x);
    const int64_t n = source.n, most = step_by_step(op, x.dtype()) ? n : chunk;
    source.run(out, attrs.reverse, [&](cpu::ScanArgs args, int64_t row) {
        int64_t carry[SideBySide::rows] = {};
        args.exclusive = attrs.exclusive, args.carry = carry;
        for (int64_t c = 0; c < n; c += most) {
            args.n = std::min(most, n - c);
            const int64_t from = args.reverse ? n - c - args.n : c;
            args.x = source.at(row, from), args.out = at(out, row * n + from);
            args.first = c == 0;
            kernel(args);
        }
    });
}

// Many rows: one after the other. Few long ones: the totals of all chunks first, then every chunk with what comes before
// it; the bits are the same.
void scan_rows(cpu::Scan op, const ScanAttrs& attrs, const Tensor& x, const Tensor& out) {
    const auto kernel = scan_table().rows[int(op)][int(x.dtype())];
    const int64_t n = x.size(attrs.axis), rows = x.count() / n, chunks = (n + chunk - 1) / chunk;
    const auto piece = [&](int64_t row, int64_t c, void* carry, bool store) {
        const int64_t size = std::min(chunk, n - c * chunk),
                      first = row * n + (attrs.reverse ? n - c * chunk - size : c * chunk);
        return cpu::ScanArgs{.x = at(x, first),
                             .n = size,
                             .exclusive = attrs.exclusive,
                             .reverse = attrs.reverse,
                             .out = store ? at(out, first) : nullptr,
                             .carry = carry};
    };
    if (chunks == 1 || rows >= 2 * thread_count()) {
        parallel_for(rows, grain_for(n / 2), [&](int64_t begin, int64_t end) {
            if (chunks == 1) {
                cpu::ScanArgs args = piece(begin, 0, nullptr, true);
                args.count = end - begin;
                return kernel(args);
            }
            for (int64_t row = begin; row < end; ++row) {
                int64_t carry = 0;
                for (int64_t c = 0; c < chunks; ++c) {
                    cpu::ScanArgs args = piece(row, c, &carry, true);
                    args.first = c == 0;
                    kernel(args);
                }
            }
        });
        return;
    }
    Tensor carries = Tensor::empty({rows * chunks}, DType::i64);  // room for any element
    int64_t* carry = static_cast<int64_t*>(carries.raw());
    const auto all_chunks = [&](bool store) {
        parallel_each(rows * chunks, 1, [&](int64_t k) {
            cpu::ScanArgs args = piece(k / chunks, k % chunks, carry + k, store);
            args.first = !store || k % chunks == 0;
            kernel(args);
        });
    };
    all_chunks(false);
    visit(x.dtype(), [&]<class T>(T) {  // from totals to what comes before
        if constexpr (!std::is_same_v<T, bool>)
            for (int64_t row = 0; row < rows; ++row) {
                T before{};
                for (int64_t c = 0; c < chunks; ++c) {
                    T* at = reinterpret_cast<T*>(carry + row * chunks + c);
                    const T total = *at;
                    *at = before;
                    before = c == 0 ? total : joined(op, before, total);
                }
            }
    });
    all_chunks(true);
}

Tensor scan(const char* name, cpu::Scan op, const ScanAttrs& attrs, const Tensor& x) {
    require_numbers(name, x);
    const bool beside = attrs.axis == x.rank() - 1 && SideBySide::fit(x);
    return scanned(op, attrs, beside ? x : x.contiguous());
}

}  // namespace

Tensor scanned(cpu::Scan op, const ScanAttrs& attrs, const Tensor& x) {
    const Lines l(x.shape(), attrs.axis);
    Tensor out = Tensor::empty(x.shape(), x.dtype());
    if (x.count() == 0) return out;
    const bool rows = l.inner == 1;
    if (rows && !x.is_contiguous())
        scan_side_by_side(op, attrs, x, out);
    else if (rows && !step_by_step(op, x.dtype()))
        scan_rows(op, attrs, x, out);
    else
        l.run(scan_table().joins[int(op)][int(x.dtype())], x, out, attrs.reverse, 8,
              [&](cpu::ScanArgs& args, int64_t) { args.exclusive = attrs.exclusive; });
    return out;
}

Tensor Cumsum::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return scan(name, cpu::Scan::sum, attrs, x[0]);
}
Tensor Cumprod::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return scan(name, cpu::Scan::prod, attrs, x[0]);
}

// h_t = a_t h_{t−1} + b_t.
Tensor LinearRecurrence::forward(const Attrs& attrs, std::span<const Tensor> x) {
    require_floating_pair(name, x[0], x[1], "a", "b");
    if (!(x[0].shape() == x[1].shape()))
        throw ShapeError(name, "a ", x[0].shape(), " and b ", x[1].shape(), " must have one shape");
    Tensor out = Tensor::empty(x[1].shape(), x[1].dtype());
    if (out.count() == 0) return out;
    const bool wide = out.dtype() == DType::f64;
    const Lines l(out.shape(), attrs.axis, wide ? 8 : 16);  // a line of memory
    const cpu::ScanSteps& steps = scan_table().recurrence[wide];
    if (l.inner == 1 && SideBySide::fit(x[0]) && SideBySide::fit(x[1])) {
        const SideBySide a(x[0]), b(x[1]);
        b.run(out, attrs.reverse, [&](cpu::ScanArgs args, int64_t row) {
            args.a = a.at(row, 0), args.a_inner = a.apart;
            steps.turned(args);
        });
        return out;
    }
    const Tensor a = x[0].contiguous(), b = x[1].contiguous();
    l.run(steps, b, out, attrs.reverse, 2, [&](cpu::ScanArgs& args, int64_t first) {
        args.a = at(a, first), args.a_inner = l.inner;
    });
    return out;
}

}  // namespace mercer
