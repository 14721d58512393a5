#include "engine/ops/scan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/scan_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/rows.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::ScanTable, scan_table)

namespace {

// A constant: the order of sums must not depend on threads.
constexpr int64_t chunk = 1 << 14;

struct Lines {
    int64_t outer = 1, n = 1, inner = 1;
    Lines(const Shape& shape, int axis) {
        n = shape[axis];
        for (int i = 0; i < shape.rank(); ++i)
            if (i != axis) (i < axis ? outer : inner) *= shape[i];
    }
};

/// Whether a result whose rows of n begin at lines of memory goes past the caches.
bool streams_columns(const Tensor& out, int64_t n) {
    return streams(out, 2) && n * int64_t(size_of(out.dtype())) % 64 == 0 &&
           reinterpret_cast<uintptr_t>(out.raw()) % 64 == 0;
}

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
    /// body(first row of all, rows), in parallel.
    template <class Body>
    void for_blocks(Body body) const {
        const int64_t all = x.count() / (lines * n),
                      side = all * lines < 2 * rows * thread_count() ? rows / 4 : rows,
                      blocks = (lines + side - 1) / side;
        parallel_for(all * blocks, grain_for(n * side), [&](int64_t begin, int64_t end) {
            for (; begin < end; ++begin) {
                const int64_t first = begin % blocks * side;
                body(begin / blocks * lines + first, std::min(side, lines - first));
            }
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

void scan_side_by_side(cpu::Scan op, const cpu::ScanArgs& all, const Tensor& x, const Tensor& out) {
    const auto kernel = scan_table().rows_turned[int(op)][int(x.dtype())];
    const SideBySide source(x);
    const int64_t n = all.n;
    const bool stream = streams_columns(out, n);
    source.for_blocks([&](int64_t first, int64_t rows) {
        int64_t carry[SideBySide::rows] = {};
        cpu::ScanArgs args = all;
        args.inner = source.apart;
        args.count = rows;
        args.carry = carry;
        args.out_inner = n;
        args.stream = stream;
        for (int64_t c = 0; c < n; c += chunk) {
            args.n = std::min(chunk, n - c);
            const int64_t from = all.reverse ? n - c - args.n : c;
            args.x = source.at(first, from);
            args.out = static_cast<char*>(all.out) + (first * n + from) * source.element;
            args.first = c == 0;
            kernel(args);
        }
    });
}

void recur_side_by_side(const SideBySide& a, const SideBySide& b, bool reverse, Tensor& out) {
    const auto kernel = scan_table().recurrence_turned[a.element == 8];
    const bool stream = streams_columns(out, a.n);
    a.for_blocks([&](int64_t first, int64_t rows) {
        kernel({a.at(first, 0), b.at(first, 0), a.n, a.apart, b.apart, rows, reverse,
                static_cast<char*>(out.raw()) + first * a.n * a.element, a.n, stream});
    });
}

std::array<Tensor, 2> run_side_by_side(cpu::Scan op, const SideBySide& x, bool reverse) {
    const Tensor y = Tensor::empty(x.x.shape(), x.x.dtype()),
                 index = Tensor::empty(x.x.shape(), DType::i64);
    const auto kernel = scan_table().running_turned[op == cpu::Scan::min][int(y.dtype())];
    const bool stream = streams_columns(y, x.n);
    x.for_blocks([&](int64_t first, int64_t rows) {
        kernel({x.at(first, 0), x.n, x.apart, rows, reverse,
                static_cast<char*>(y.raw()) + first * x.n * x.element,
                static_cast<int64_t*>(index.raw()) + first * x.n, stream, x.n});
    });
    return {y, index};
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
    parallel_for(rows * chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            cpu::ScanArgs args = piece(k / chunks, k % chunks, carry + k, false);
            args.first = true;
            kernel(args);
        }
    });
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
    parallel_for(rows * chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            cpu::ScanArgs args = piece(k / chunks, k % chunks, carry + k, true);
            args.first = k % chunks == 0;
            kernel(args);
        }
    });
}

void require_numbers(const char* name, const Tensor& x) {
    if (x.dtype() == DType::boolean) throw DTypeError(name, "works on numbers, got bool; use cast");
}

/// x is contiguous or its rows, along the last axis, lie side by side.
Tensor scanned(cpu::Scan op, const ScanAttrs& attrs, const Tensor& x) {
    Tensor out = Tensor::empty(x.shape(), x.dtype());
    if (x.count() == 0) return out;
    const Lines l(x.shape(), attrs.axis);
    const cpu::ScanArgs all{x.raw(),       l.n,       l.inner, 0,   attrs.exclusive,
                            attrs.reverse, out.raw(), nullptr, true};
    if (l.inner == 1) {
        if (x.is_contiguous())
            scan_rows(op, all, l.outer, x.dtype());
        else
            scan_side_by_side(op, all, x, out);
        return out;
    }
    constexpr int64_t width = 256;
    const int64_t blocks = (l.inner + width - 1) / width, element = int64_t(size_of(x.dtype()));
    parallel_for(l.outer * blocks, grain_for(l.n * std::min(l.inner, width) / 8),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin; item < end; ++item) {
                         const int64_t c = item % blocks * width,
                                       at = (item / blocks * l.n * l.inner + c) * element;
                         cpu::ScanArgs args = all;
                         args.x = static_cast<const char*>(x.raw()) + at;
                         args.out = static_cast<char*>(out.raw()) + at;
                         args.count = std::min(width, l.inner - c);
                         args.stream = streams_columns(out, l.inner);
                         scan_table().columns[int(op)][int(x.dtype())](args);
                     }
                 });
    return out;
}

Tensor scan(const char* name, cpu::Scan op, const ScanAttrs& attrs, const Tensor& x) {
    const OperationScope scope(name, {&x});
    require_numbers(name, x);
    const bool beside = attrs.axis == x.rank() - 1 && SideBySide::fit(x);
    return scanned(op, attrs, beside ? x : x.contiguous());
}

// Running extrema along rows, and where they stood: the last t at which x_t is the extremum, for a new one and an equal
// one are it at their place. That is a running extremum of places.
std::array<Tensor, 2> running_rows(const Lines& l, cpu::Scan op, const RunningAttrs& attrs,
                                   const Tensor& x) {
    const bool reverse = attrs.reverse;
    constexpr int64_t piece = 2048;
    const int64_t n = l.n, together = std::max<int64_t>(1, piece / n);
    // A few long rows are cut, each for several threads.
    const bool few = l.outer < 2 * thread_count();
    const Tensor y = few ? scanned(op, {attrs.axis, false, reverse}, x)
                         : Tensor::empty(x.shape(), x.dtype()),
                 index = Tensor::empty(x.shape(), DType::i64);
    const auto extrema = scan_table().rows[int(op)][int(x.dtype())],
               last = scan_table()
                          .rows[int(reverse ? cpu::Scan::min : cpu::Scan::max)][int(DType::i64)];
    const auto dense = scan_table().running_dense[op == cpu::Scan::min][int(x.dtype())];
    const auto mark = scan_table().standing[int(x.dtype())];
    const int64_t none = reverse ? std::numeric_limits<int64_t>::max() : 0;
    std::vector<int64_t> place(size_t(std::min(piece, x.count())));  // within rows
    for (int64_t k = 0; k < int64_t(place.size()); ++k)
        place[size_t(k)] = k < n ? k : place[size_t(k - n)];
    parallel_for(l.outer, grain_for(n), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        int64_t* const near = n <= piece ? scratch.take<int64_t>(piece) : nullptr;
        if (!few)
            begin += dense({at(x, begin * n), n, 1, end - begin, reverse, at(y, begin * n),
                            static_cast<int64_t*>(index.raw()) + begin * n, false});
        for (; begin < end; begin += together) {
            const int64_t count = std::min(together, end - begin), first = begin * n;
            int64_t* const out = static_cast<int64_t*>(index.raw()) + first;
            int64_t* const marks = near ? near : out;
            if (!few)
                extrema({at(x, first), n, 1, count, false, reverse, at(y, first), nullptr, true});
            for (int64_t k = 0; k < count * n; k += piece)
                mark(at(x, first + k), at(y, first + k), std::min(piece, count * n - k), k,
                     place.data(), none, marks + k);
            last({marks, n, 1, count, false, reverse, out, nullptr, true});
        }
    });
    return {y, index};
}

std::array<Tensor, 2> running_columns(const Lines& l, cpu::Scan op, const RunningAttrs& attrs,
                                      const Tensor& x) {
    const Tensor y = Tensor::empty(x.shape(), x.dtype()),
                 index = Tensor::empty(x.shape(), DType::i64);
    constexpr int64_t width = cpu::running_columns;
    const int64_t blocks = (l.inner + width - 1) / width, element = int64_t(size_of(x.dtype()));
    const auto kernel = scan_table().running[op == cpu::Scan::min][int(x.dtype())];
    const bool stream = streams_columns(y, l.inner);
    parallel_for(l.outer * blocks, grain_for(l.n * std::min(l.inner, width)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin; item < end; ++item) {
                         const int64_t c0 = item % blocks * width,
                                       at = item / blocks * l.n * l.inner + c0;
                         kernel({static_cast<const char*>(x.raw()) + at * element, l.n, l.inner,
                                 std::min(width, l.inner - c0), attrs.reverse,
                                 static_cast<char*>(y.raw()) + at * element,
                                 static_cast<int64_t*>(index.raw()) + at, stream});
                     }
                 });
    return {y, index};
}

std::array<Tensor, 2> running(const char* name, cpu::Scan op, const RunningAttrs& attrs,
                              const Tensor& in) {
    const OperationScope scope(name, {&in});
    require_numbers(name, in);
    if (attrs.axis == in.rank() - 1 && SideBySide::fit(in))
        return run_side_by_side(op, SideBySide(in), attrs.reverse);
    const Tensor x = in.contiguous();
    if (x.count() == 0)
        return {Tensor::empty(x.shape(), x.dtype()), Tensor::empty(x.shape(), DType::i64)};
    const Lines l(x.shape(), attrs.axis);
    return (l.inner == 1 ? running_rows : running_columns)(l, op, attrs, x);
}

}  // namespace

Tensor Cumsum::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return scan(name, cpu::Scan::sum, attrs, x[0]);
}
Tensor Cumprod::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return scan(name, cpu::Scan::prod, attrs, x[0]);
}

std::array<Tensor, 2> Cummax::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return running(name, cpu::Scan::max, attrs, x[0]);
}
std::array<Tensor, 2> Cummin::forward(const Attrs& attrs, std::span<const Tensor> x) {
    return running(name, cpu::Scan::min, attrs, x[0]);
}

Tensor LinearRecurrence::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (!is_floating(x[0].dtype()) || x[0].dtype() != x[1].dtype())
        throw DTypeError(name, "works on f32 and f64 of one dtype, got " +
                                   std::string(name_of(x[0].dtype())) + " and " +
                                   std::string(name_of(x[1].dtype())) + "; use cast");
    if (!(x[0].shape() == x[1].shape()))
        throw ShapeError(name, "a " + to_string(x[0].shape()) + " and b " +
                                   to_string(x[1].shape()) + " must have one shape");
    Tensor out = Tensor::empty(x[1].shape(), x[1].dtype());
    if (out.count() == 0) return out;
    const Lines l(out.shape(), attrs.axis);
    const bool wide = out.dtype() == DType::f64, rows = l.inner == 1;
    if (rows && SideBySide::fit(x[0]) && SideBySide::fit(x[1])) {
        recur_side_by_side(SideBySide(x[0]), SideBySide(x[1]), attrs.reverse, out);
        return out;
    }
    const Tensor a = x[0].contiguous(), b = x[1].contiguous();
    const auto kernel =
        (rows ? scan_table().recurrence_rows : scan_table().recurrence_columns)[wide];
    const int64_t width = rows ? 16 : 256;  // lines of one call
    const int64_t lines = rows ? l.outer : l.inner, groups = rows ? 1 : l.outer;
    const int64_t blocks = (lines + width - 1) / width, element = int64_t(size_of(b.dtype()));
    parallel_for(groups * blocks, grain_for(l.n * std::min(lines, width) / 2),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin; item < end; ++item) {
                         const int64_t first = item % blocks * width;
                         const int64_t at =
                             (item / blocks * l.n * l.inner + first * (rows ? l.n : 1)) * element;
                         kernel({static_cast<const char*>(a.raw()) + at,
                                 static_cast<const char*>(b.raw()) + at, l.n, l.inner, l.inner,
                                 std::min(width, lines - first), attrs.reverse,
                                 static_cast<char*>(out.raw()) + at, l.inner,
                                 streams_columns(out, rows ? l.n : l.inner)});
                     }
                 });
    return out;
}

Tensor cumsum(const Tensor& x, int axis, bool exclusive, bool reverse) {
    return compute<Cumsum>({normal_axis("cumsum", axis, x.rank()), exclusive, reverse}, {&x, 1});
}
Tensor cumprod(const Tensor& x, int axis, bool exclusive, bool reverse) {
    return compute<Cumprod>({normal_axis("cumprod", axis, x.rank()), exclusive, reverse}, {&x, 1});
}
std::pair<Tensor, Tensor> cummax(const Tensor& x, int axis, bool reverse) {
    auto [values, indices] =
        compute<Cummax>({normal_axis("cummax", axis, x.rank()), reverse}, {&x, 1});
    return {values, indices};
}
std::pair<Tensor, Tensor> cummin(const Tensor& x, int axis, bool reverse) {
    auto [values, indices] =
        compute<Cummin>({normal_axis("cummin", axis, x.rank()), reverse}, {&x, 1});
    return {values, indices};
}
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int axis, bool reverse) {
    const Tensor x[] = {a, b};
    return compute<LinearRecurrence>({normal_axis("linear_recurrence", axis, b.rank()), reverse},
                                     x);
}

}  // namespace mercer
