#include "engine/cpu/index.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/segment.h"
#include "engine/cpu/segment_table.h"
#include "engine/parallel.h"

namespace mercer {

const cpu::SegmentTable& segment_table();

namespace cpu {
namespace {

constexpr int64_t short_row = 16;      // elements; longer ones may be worth sorting their ids for
constexpr int64_t worth_it = 1 << 14;  // elements from which sorting, or tables of one's own, are
constexpr int64_t in_cache = 1 << 18;  // bytes of a table where rows in any order are quickly found
constexpr int64_t ahead = 64;          // rows between asking for a place and joining to it

bool worth_sorting(const Indexed& a, DType dtype) {
    return a.inner >= short_row && a.n * a.inner >= worth_it &&
           double(a.size) * double(a.inner * int64_t(size_of(dtype))) > in_cache;
}

/// Calls f(list) with the segments that a stable sort of the ids makes.
template <class F>
auto with_sorted(const Indexed& a, F f) {
    const Tensor offsets = Tensor::empty({a.size + 1}, DType::i64),
                 order = Tensor::empty({a.n}, DType::i64);
    int64_t *at = static_cast<int64_t*>(offsets.raw()), *place = static_cast<int64_t*>(order.raw());
    sort_ids(a.ids, a.n, a.size, at, place);
    return f(SegmentList{at, place, a.size, a.n});
}

constexpr auto add = []<class T>(T& to, T x) { to += x; };
// NaN stays, of equals the first. In two steps, of which the first needs no branch and the second's is foreseen.
template <bool most>
constexpr auto extremum = []<class T>(T& to, T x) {
    const T next = (most ? x > to : x < to) ? x : to;
    to = x != x ? x : next;
};

/// Rows of `width` of [first, last) into the table, in ascending order; true. far: looks at the ids `ahead` as well, and
/// asks for their places; false, and rows left out, if one is outside.
template <int width, bool far, class T, class Join>
bool join_narrow(const Indexed& a, const T* from, int64_t first, int64_t last, T* table,
                 Join join) {
    constexpr int some = std::min(width, 16 / int(sizeof(T)));  // a register
    for (int64_t j = first; j < last; ++j) {
        if constexpr (far) {
            if (uint64_t(a.ids[j + ahead]) >= uint64_t(a.size)) return false;
            __builtin_prefetch(table + a.ids[j + ahead] * width);
        }
        T row[some], *to = table + a.ids[j] * width;
        for (int c = 0; c < width; c += some, to += some) {
            for (int k = 0; k < some; ++k) join(row[k] = to[k], from[j * width + c + k]);
            for (int k = 0; k < some; ++k) to[k] = row[k];
        }
    }
    return true;
}
template <int width, class T, class Join>
bool join_ahead(const Indexed& a, const T* from, int64_t first, int64_t last, T* table, Join join) {
    if (!beyond_cache(a)) return join_narrow<width, false>(a, from, first, last, table, join);
    const int64_t seen = std::min(ahead, last - first), end = last - seen;
    return within(a.ids + first, seen, a.size) &&
           join_narrow<width, true>(a, from, first, end, table, join) &&
           join_narrow<width, false>(a, from, end, last, table, join);
}
template <class T, class Join>
bool join_run(Reduction op, const Indexed& a, const T* from, int64_t first, int64_t last, T* table,
              Join join) {
    switch (a.inner) {
        case 1: return join_ahead<1>(a, from, first, last, table, join);
        case 2: return join_ahead<2>(a, from, first, last, table, join);
        case 4: return join_ahead<4>(a, from, first, last, table, join);
        case 8: return join_ahead<8>(a, from, first, last, table, join);
        default:
            segment_table().join_by_id[int(op)][sizeof(T) == 8](
                a.ids + first, last - first, a.inner, from + first * a.inner, table);
            return true;
    }
}

/// to = `identity` joined with all rows: run(table, first, last) joins some to a table.
template <class T, class Run, class Join>
void join_parts(const Indexed& a, T identity, T* to, Run run, Join join) {
    const int64_t size = a.size * a.inner,
                  parts =
                      a.n * a.inner < worth_it ? 1 : std::clamp<int64_t>(a.n / (2 * a.size), 1, 8);
    const Tensor room = Tensor::empty({parts - 1, size}, dtype_of<T>);
    T* more = static_cast<T*>(room.raw());
    if (parts == 1)
        parallel_for(size, 1 << 15, [=](int64_t begin, int64_t end) {
            std::fill(to + begin, to + end, identity);
        });
    parallel_each(parts, 1, [&](int64_t p) {
        T* table = p ? more + (p - 1) * size : to;
        if (parts > 1) std::fill_n(table, size, identity);
        run(table, a.n * p / parts, a.n * (p + 1) / parts);
    });
    if (parts == 1) return;
    parallel_for(size, 1 << 13, [&](int64_t begin, int64_t end) {
        for (int64_t p = 0; p + 1 < parts; ++p)
            for (int64_t i = begin; i < end; ++i) join(to[i], more[p * size + i]);
    });
}

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

template <class T, class Join>
bool join_all(Reduction op, const Indexed& a, const T* x, T identity, T* to, Join join) {
    std::atomic<bool> good{true};
    const auto run = [&](T* table, int64_t first, int64_t last) {
        if (!join_run(op, a, x, first, last, table, join)) good = false;
    };
    join_parts(a, identity, to, run, join);
    return good;
}

// Where an extremum is still what it began with, its rows may all be so, or it may have none.
template <class T>
void mark_empty(const Indexed& a, T identity, T empty, T* to) {
    std::atomic<bool> suspect{false};
    parallel_for(a.size * a.inner, 1 << 15, [&](int64_t begin, int64_t end) {
        bool found = false;
        for (int64_t i = begin; i < end; ++i) found |= to[i] == identity;
        if (found) suspect = true;
    });
    if (!suspect) return;
    const Tensor room = Tensor::zeros({a.size}, DType::boolean);
    bool* touched = static_cast<bool*>(room.raw());
    for (int64_t j = 0; j < a.n; ++j) touched[a.ids[j]] = true;
    for (int64_t s = 0; s < a.size; ++s)
        if (!touched[s]) std::fill_n(to + s * a.inner, a.inner, empty);
}

template <class T>
void softmax_short(const Indexed& a, const T* x, T* y) {
    const Tensor tables = Tensor::empty({2, a.size, a.inner}, dtype_of<T>);
    const int64_t size = a.size * a.inner, block = std::max<int64_t>(2048 / a.inner, 1);
    T *top = static_cast<T*>(tables.raw()), *sum = top + size;
    join_all(Reduction::max, a, x, -infinity<T>, top, extremum<true>);
    parallel_for(size, 1 << 14, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)  // −∞ only: exp gives zeros, and so do we
            if (top[i] == -infinity<T>) top[i] = 0;
    });
    const auto exp_below = segment_table().exp_below[sizeof(T) == 8];
    join_parts(
        a, T(0), sum,
        [&](T* table, int64_t first, int64_t last) {
            for (; first < last; first += block) {
                const int64_t end = std::min(first + block, last);
                exp_below(a.ids + first, end - first, a.inner, x + first * a.inner, top,
                          y + first * a.inner);
                join_run(Reduction::sum, a, y, first, end, table, add);
            }
        },
        add);
    parallel_for(size, 1 << 13, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sum[i] = sum[i] == T(0) ? T(0) : T(1) / sum[i];
    });
    const auto times = segment_table().times_by_id[sizeof(T) == 8];
    parallel_for(a.n, grain_for(2 * a.inner), [&](int64_t begin, int64_t end) {
        times(a.ids + begin, end - begin, a.inner, y + begin * a.inner, sum, y + begin * a.inner);
    });
}

}  // namespace

bool beyond_cache(const Indexed& a) { return a.size * a.inner > 1 << 17; }

bool join_rows(Reduction op, const Indexed& a, double empty, DType dtype, const void* from,
               void* to) {
    if (worth_sorting(a, dtype))
        return with_sorted(a, [&](const SegmentList& list) {
            segment_reduce(op, list, from, a.inner, empty, dtype, to);
            return true;
        });
    return visit_floating(dtype, [&]<class T>(T) {
        const T *x = static_cast<const T*>(from),
                end = op == Reduction::max ? -infinity<T> : infinity<T>;
        T* out = static_cast<T*>(to);
        if (op == Reduction::sum) return join_all(op, a, x, T(0), out, add);
        if (op == Reduction::max)
            join_all(op, a, x, end, out, extremum<true>);
        else
            join_all(op, a, x, end, out, extremum<false>);
        mark_empty(a, end, T(empty), out);
        return true;
    });
}

void softmax_by_id(const Indexed& a, DType dtype, const void* x, void* y) {
    if (worth_sorting(a, dtype))
        return with_sorted(a, [&](const SegmentList& list) {
            segment_softmax(list, x, nullptr, a.inner, dtype, y);
        });
    visit_floating(
        dtype, [&]<class T>(T) { softmax_short(a, static_cast<const T*>(x), static_cast<T*>(y)); });
}

void count_ids(const int64_t* ids, int64_t n, int64_t size, int64_t* counts) {
    if (size == 0) return;
    join_parts(
        Indexed{1, n, 1, size, ids, true}, int64_t{0}, counts,
        [=](int64_t* table, int64_t first, int64_t last) {
            for (int64_t j = first; j < last; ++j) ++table[ids[j]];
        },
        add);
}

}  // namespace cpu
}  // namespace mercer
