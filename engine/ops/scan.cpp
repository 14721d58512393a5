#include "engine/ops/scan.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/functions.h"
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

void scan_side_by_side(cpu::Scan op, const cpu::ScanArgs& all, const Tensor& x, const Tensor& out) {
    const auto kernel = scan_table().rows_turned[int(op)][int(x.dtype())];
    const SideBySide source(x);
    const int64_t n = all.n, most = step_by_step(op, x.dtype()) ? n : chunk;
    const bool stream = streams_columns(out, n);
    source.for_blocks([&](int64_t first, int64_t rows) {
        int64_t carry[SideBySide::rows] = {};
        cpu::ScanArgs args = all;
        args.inner = source.apart, args.count = rows, args.carry = carry;
        args.out_inner = n, args.stream = stream;
        for (int64_t c = 0; c < n; c += most) {
            args.n = std::min(most, n - c);
            const int64_t from = all.reverse ? n - c - args.n : c;
            args.x = source.at(first, from);
            args.out = static_cast<char*>(all.out) + (first * n + from) * source.element;
            args.first = c == 0;
            kernel(args);
        }
    });
}

// Many rows: one after the other. Few long ones: the totals of all chunks first, then every chunk with what comes before
// it; the bits are the same.
void scan_rows(cpu::Scan op, const cpu::ScanArgs& all, int64_t rows, DType dtype) {
    const auto kernel = scan_table().rows[int(op)][int(dtype)];
    const int64_t n = all.n, chunks = (n + chunk - 1) / chunk, element = int64_t(size_of(dtype));
    const auto piece = [&](int64_t row, int64_t c, void* carry, bool store) {
        cpu::ScanArgs args = all;
        args.n = std::min(chunk, n - c * chunk);
        const int64_t at = (row * n + (all.reverse ? n - c * chunk - args.n : c * chunk)) * element;
        args.x = static_cast<const char*>(all.x) + at;
        args.out = store ? static_cast<char*>(all.out) + at : nullptr;
        args.carry = carry;
        return args;
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
    visit(dtype, [&]<class T>(T) {  // from totals to what comes before
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
    const OperationScope scope(name, {&x});
    require_numbers(name, x);
    const bool beside = attrs.axis == x.rank() - 1 && SideBySide::fit(x);
    return scanned(op, attrs, beside ? x : x.contiguous());
}

}  // namespace

Tensor scanned(cpu::Scan op, const ScanAttrs& attrs, const Tensor& x) {
    const Lines l(x.shape(), attrs.axis);
    Tensor out = Tensor::empty(x.shape(), x.dtype());
    if (x.count() == 0) return out;
    const cpu::ScanArgs all{x.raw(),       l.n,       l.inner, 0,   attrs.exclusive,
                            attrs.reverse, out.raw(), nullptr, true};
    const bool rows = l.inner == 1;
    if (rows && !x.is_contiguous()) {
        scan_side_by_side(op, all, x, out);
    } else if (rows && !step_by_step(op, x.dtype())) {
        scan_rows(op, all, l.outer, x.dtype());
    } else {
        const auto kernel =
            (l.planes ? scan_table().planes : scan_table().columns)[int(op)][int(x.dtype())];
        l.for_blocks(8, [&](int64_t first, int64_t count) {
            cpu::ScanArgs args = all;
            args.x = at(x, first), args.out = at(out, first), args.count = count;
            args.stream = l.stream(out);
            kernel(args);
        });
    }
    return out;
}

Tensor Cumsum::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return scan(name, cpu::Scan::sum, attrs, x[0]);
}
Tensor Cumprod::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return scan(name, cpu::Scan::prod, attrs, x[0]);
}

}  // namespace mercer

#define MERCER_VALUE Tensor
#include "engine/ops/scan.inl"
