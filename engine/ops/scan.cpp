#include "engine/ops/scan.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/scan_table.h"
#include "engine/error.h"
#include "engine/ops/rows.h"
#include "engine/parallel.h"

namespace mercer {

MERCER_DISPATCH(cpu::ScanTable, scan_table)

namespace {

/// Whether a result whose rows of n begin at lines of memory goes past the caches.
bool streams_columns(const Tensor& out, int64_t n, int64_t tensors = 2) {
    return streams(out, tensors) && n * int64_t(size_of(out.dtype())) % 64 == 0 &&
           reinterpret_cast<uintptr_t>(out.raw()) % 64 == 0;
}

/// The lines of a shape along one axis.
struct Lines {
    int64_t outer, n, inner;
    bool planes;  // rows, or enough planes of few elements: by lines of memory; else columns
    Lines(const Shape& shape, int axis, int64_t few = cpu::plane_columns)
        : outer(count(shape.part(0, axis))),
          n(shape[axis]),
          inner(count(shape.part(axis + 1, shape.rank()))),
          planes(inner == 1 || (inner <= few && outer >= 64)) {}
    /// A formula along all lines of x to out, in parallel; more(args, the first element) says what else it needs. So many
    /// elements of a column cost as much as one of grain_for.
    template <class More>
    void run(const cpu::ScanSteps& steps, const Tensor& x, const Tensor& out, bool reverse,
             int64_t elements, More more, int64_t tensors = 2) const {
        const int64_t size = n * inner, lines = planes ? outer : inner,
                      width = planes ? std::max<int64_t>(16, 4096 / size / 16 * 16)
                                     : cpu::columns_together,
                      blocks = (lines + width - 1) / width,
                      cost = std::min(lines, width) * (planes ? size / 2 : n / elements);
        // Whether such results go past the caches.
        const bool stream = streams_columns(out, planes ? cpu::plane_columns : inner, tensors);
        parallel_each((planes ? 1 : outer) * blocks, grain_for(cost), [&](int64_t i) {
            const int64_t line = i % blocks * width,
                          first = i / blocks * size + line * (planes ? size : 1);
            cpu::ScanArgs args{.x = at(x, first),
                               .n = n,
                               .inner = inner,
                               .count = std::min(width, lines - line),
                               .reverse = reverse,
                               .out = at(out, first),
                               .stream = stream};
            more(args, first);
            (planes ? steps.planes : steps.columns)(args);
        });
    }
};

/// Rows, along the last axis, that lie side by side in memory.
struct SideBySide {
    static constexpr int64_t rows = cpu::turned_rows;  // at a time
    const Tensor& x;
    int64_t lines, n, apart, element;

    explicit SideBySide(const Tensor& of)
        : x(of),
          lines(of.size(-2)),
          n(of.size(-1)),
          apart(of.strides()[of.rank() - 1]),
          element(int64_t(size_of(of.dtype()))) {}
    static bool fit(const Tensor& x) {
        const int rank = x.rank();
        return rank > 1 && x.count() && !x.is_contiguous() && x.strides()[rank - 2] == 1 &&
               x.strides()[rank - 1] > 1 && size_of(x.dtype()) >= 4 && x.size(-2) >= 16 &&
               x.count() / x.size(-1) >= rows / 4 * thread_count();
    }
    /// body(args, the first row) for some rows at a time, in parallel; the args are those of all their steps.
    template <class Body>
    void run(const Tensor& out, bool reverse, Body body) const {
        const int64_t all = x.count() / (lines * n),
                      side = all * lines < 2 * rows * thread_count() ? rows / 4 : rows,
                      blocks = (lines + side - 1) / side;
        const bool stream = streams_columns(out, n);
        parallel_each(all * blocks, grain_for(n * side), [&](int64_t i) {
            const int64_t line = i % blocks * side, first = i / blocks * lines + line;
            body(cpu::ScanArgs{.x = at(first, 0),
                               .n = n,
                               .inner = apart,
                               .count = std::min(side, lines - line),
                               .reverse = reverse,
                               .out = mercer::at(out, first * n),
                               .out_inner = n,
                               .stream = stream},
                 first);
        });
    }
    const char* at(int64_t row, int64_t step) const {
        int64_t offset = row % lines + step * apart, rest = row / lines;
        for (int axis = x.rank() - 3; axis >= 0; --axis) {
            offset += rest % x.size(axis) * x.strides()[axis];
            rest /= x.size(axis);
        }
        return static_cast<const char*>(x.raw()) + offset * element;
    }
};

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

/// Prefix sums, products or extrema of x, which is contiguous or whose rows, along the last axis, lie side by side.
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

Tensor scan(const char* name, cpu::Scan op, const ScanAttrs& attrs, const Tensor& x) {
    require_numbers(name, x);
    const bool beside = attrs.axis == x.rank() - 1 && SideBySide::fit(x);
    return scanned(op, attrs, beside ? x : x.contiguous());
}

// A few long rows are cut, each for several threads. They stand at the last t at which x_t is the extremum, for a new one
// and an equal one are it at their place: that is a running extremum of places.
std::array<Tensor, 2> run_long_rows(const Lines& l, cpu::Scan op, const RunningAttrs& attrs,
                                    const Tensor& x) {
    constexpr int64_t piece = 4096;
    const bool reverse = attrs.reverse;
    const Tensor y = scanned(op, {attrs.axis, false, reverse}, x),
                 places = Tensor::empty(x.shape(), DType::i64);
    const auto mark = scan_table().standing[int(x.dtype())];
    const int64_t none = reverse ? std::numeric_limits<int64_t>::max() : 0,
                  pieces = (l.n + piece - 1) / piece;
    parallel_each(l.outer * pieces, 1, [&](int64_t i) {
        const int64_t t = i % pieces * piece, first = i / pieces * l.n + t;
        mark(at(x, first), at(y, first), std::min(piece, l.n - t), t, none,
             static_cast<int64_t*>(places.raw()) + first);
    });
    return {y, scanned(reverse ? cpu::Scan::min : cpu::Scan::max, {attrs.axis, false, reverse},
                       places)};
}

std::array<Tensor, 2> running(const char* name, cpu::Scan op, const RunningAttrs& attrs,
                              const Tensor& in) {
    require_numbers(name, in);
    // In registers places have at least 32 bits; rows longer than that are cut.
    const int last = in.rank() - 1;
    const bool longest = in.size(attrs.axis) > std::numeric_limits<int32_t>::max();
    if (longest && attrs.axis != last) {
        const auto [y, index] = running(name, op, {last, attrs.reverse}, as_rows(in, attrs.axis));
        return {as_rows(y, attrs.axis), as_rows(index, attrs.axis)};
    }
    const bool beside = attrs.axis == last && !longest && SideBySide::fit(in);
    const Tensor x = beside ? in : in.contiguous();
    const Lines l(x.shape(), attrs.axis);
    if (!beside && x.count() && l.inner == 1 &&
        (longest || (l.n >= 1024 && l.outer < 16 * thread_count())))
        return run_long_rows(l, op, attrs, x);
    const Tensor y = Tensor::empty(x.shape(), x.dtype()),
                 index = Tensor::empty(x.shape(), DType::i64);
    const cpu::ScanSteps& steps = scan_table().running[op == cpu::Scan::min][int(x.dtype())];
    const auto places = [&](cpu::ScanArgs& args, int64_t first) {
        args.index = static_cast<int64_t*>(index.raw()) + first;
    };
    if (beside)
        SideBySide(x).run(y, attrs.reverse, [&](cpu::ScanArgs args, int64_t row) {
            places(args, row * l.n);
            steps.turned(args);
        });
    else if (x.count())
        l.run(steps, x, y, attrs.reverse, 1, places, 2 + 8 / int64_t(size_of(y.dtype())));
    return {y, index};
}

}  // namespace

Tensor Cumsum::forward(const Attrs& attrs, TensorRefs x) {
    return scan(name, cpu::Scan::sum, attrs, x[0]);
}
Tensor Cumprod::forward(const Attrs& attrs, TensorRefs x) {
    return scan(name, cpu::Scan::prod, attrs, x[0]);
}

// h_t = a_t h_{t−1} + b_t.
Tensor LinearRecurrence::forward(const Attrs& attrs, TensorRefs x) {
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

std::array<Tensor, 2> Cummax::forward(const Attrs& attrs, TensorRefs x) {
    return running(name, cpu::Scan::max, attrs, x[0]);
}
std::array<Tensor, 2> Cummin::forward(const Attrs& attrs, TensorRefs x) {
    return running(name, cpu::Scan::min, attrs, x[0]);
}

}  // namespace mercer
