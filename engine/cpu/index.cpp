#include "engine/cpu/index.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/cpu/segment.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer::cpu {
namespace {

constexpr int64_t ahead = 8;  // rows between asking and using

template <class F>
auto visit_bits(DType dtype, F f) {
    switch (size_of(dtype)) {
        case 1: return f(uint8_t{});
        case 2: return f(uint16_t{});
        case 4: return f(uint32_t{});
        default: return f(uint64_t{});
    }
}

// Columns of a block whose places all stay in the second-level cache when they are packed there, however far apart they
// are in memory; 0: none do, or so few are picked that packing does not pay.
template <class T>
int64_t packed_columns(const Indexed& a) {
    constexpr int64_t line = 64 / int64_t(sizeof(T)), cached = 1 << 19;
    if (a.rows || a.inner < line || a.size == 0 || a.n < a.size / 2) return 0;
    return std::min<int64_t>(cached / (a.size * 64), 4) * line;
}

template <class T>
void copy_block(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows,
                int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * from_row, cols, to + i * to_row);
}

template <class T>
void fill_block(T* to, int64_t to_row, int64_t rows, int64_t cols) {
    if (to_row == cols) cols *= rows, rows = 1;
    for (int64_t i = 0; i < rows; ++i) std::fill_n(to + i * to_row, cols, T(0));
}

// Rows of a block lie pages apart, where the processor does not ask ahead by itself.
template <class T>
void ask(const T* p, int64_t cols) {
    for (int64_t c = 0; c < cols; c += 64 / int64_t(sizeof(T))) __builtin_prefetch(p + c);
}

// Every (outer, inner) is a line by itself: a thread takes some, and goes along j. `fresh`: from zeros on.
template <class T, class Join>
bool join_lines(const Indexed& a, const T* from, T* to, bool fresh, Join join) {
    const int64_t packed = packed_columns<T>(a), least = 64 / int64_t(sizeof(T)),
                  wanted = a.outer >= 4 * thread_count() ? 1 : thread_count(),
                  some = std::min(a.inner / wanted, a.rows ? a.inner : 4 * least),
                  block = packed ? packed : std::max((some + least - 1) / least * least, least),
                  blocks = (a.inner + block - 1) / block,
                  grain = grain_for(a.n * std::min(block, a.inner));
    const bool unseen = looks_at_ids(a);
    std::atomic<bool> good{true};
    parallel_for(a.outer * blocks, grain, [&](int64_t begin, int64_t end) {
        Scratch scratch;
        T* table = packed ? scratch.take<T>(a.size * packed) : nullptr;
        // Short lines that lie side by side: many are cleared and looked at together.
        const int64_t many = unseen ? 2048 / std::max<int64_t>({a.n, a.size, 1}) : 0;
        for (; many > 1 && begin < end; begin += many) {
            const int64_t stop = std::min(end, begin + many), count = stop - begin;
            if (fresh) std::fill_n(to + begin * a.size, count * a.size, T(0));
            if (!within(a.ids + begin * a.n, count * a.n, a.size)) {
                good = false;
                continue;
            }
            for (int64_t o = begin; o < stop; ++o)
                for (int64_t j = o * a.n; j < (o + 1) * a.n; ++j)
                    join(to[o * a.size + a.ids[j]], from[j]);
        }
        for (int64_t item = begin; item < end; ++item) {
            const int64_t o = item / blocks, c0 = item % blocks * block,
                          cols = std::min(block, a.inner - c0);
            T* plane = to + o * a.size * a.inner + c0;
            const T* line = from + o * a.n * a.inner + c0;
            const int64_t* ids = a.rows ? a.ids : a.ids + o * a.n * a.inner + c0;
            T* base = packed ? table : plane;
            const int64_t step = packed ? packed : a.inner;
            if (fresh)
                fill_block(base, step, a.size, cols);
            else if (packed)
                copy_block(plane, a.inner, table, packed, a.size, cols);
            if (a.inner == 1) {
                constexpr int64_t piece = 2048;
                for (int64_t j0 = 0; j0 < a.n; j0 += piece) {
                    const int64_t end_of = std::min(a.n, j0 + piece);
                    if (unseen && !within(ids + j0, end_of - j0, a.size))
                        good = false;
                    else
                        for (int64_t j = j0; j < end_of; ++j) join(base[ids[j]], line[j]);
                }
                continue;
            }
            for (int64_t j = 0; j < a.n; ++j, line += a.inner) {
                if (a.rows) {
                    T* row = base + ids[j] * step;
                    for (int64_t c = 0; c < cols; ++c) join(row[c], line[c]);
                    continue;
                }
                if (packed && j + ahead < a.n) {
                    ask(ids + ahead * a.inner, cols);
                    ask(line + ahead * a.inner, cols);
                }
                for (int64_t c = 0; c < cols; ++c) join(base[ids[c] * step + c], line[c]);
                ids += a.inner;
            }
            if (packed) copy_block(table, packed, plane, a.inner, a.size, cols);
        }
    });
    return good;
}

template <class T>
void pick_packed(const Indexed& a, int64_t packed, const T* from, T* to) {
    const int64_t blocks = (a.inner + packed - 1) / packed;
    parallel_for(a.outer * blocks, grain_for(a.n * packed), [&](int64_t begin, int64_t end) {
        Scratch scratch;
        T* table = scratch.take<T>(a.size * packed);
        for (int64_t item = begin; item < end; ++item) {
            const int64_t o = item / blocks, c0 = item % blocks * packed,
                          cols = std::min(packed, a.inner - c0);
            copy_block(from + o * a.size * a.inner + c0, a.inner, table, packed, a.size, cols);
            for (int64_t j = 0; j < a.n; ++j) {
                const int64_t at = (o * a.n + j) * a.inner + c0;
                const int64_t* ids = a.ids + at;
                if (j + ahead < a.n) ask(ids + ahead * a.inner, cols);
                for (int64_t c = 0; c < cols; ++c) to[at + c] = table[ids[c] * packed + c];
            }
        }
    });
}

}  // namespace

void pick_rows(const Indexed& a, DType dtype, const void* from, void* to) {
    visit_bits(dtype, [&]<class T>(T) {
        const int64_t row = a.inner * int64_t(sizeof(T));
        parallel_for(a.outer * a.n, grain_for(row / 16 + 1), [&](int64_t begin, int64_t end) {
            for (int64_t item = begin; item < end;) {
                const int64_t o = item / a.n, first = item % a.n,
                              last = std::min(a.n, first + end - item);
                const T* plane = static_cast<const T*>(from) + o * a.size * a.inner;
                T* out = static_cast<T*>(to) + o * a.n * a.inner;
                if (a.inner == 1)
                    for (int64_t j = first; j < last; ++j) out[j] = plane[a.ids[j]];
                else
                    for (int64_t j = first; j < last; ++j) {
                        if (j + ahead < last)
                            ask(plane + a.ids[j + ahead] * a.inner,
                                std::min<int64_t>(a.inner, 1024 / int64_t(sizeof(T))));
                        std::memcpy(out + j * a.inner, plane + a.ids[j] * a.inner, size_t(row));
                    }
                item += last - first;
            }
        });
    });
}

bool pick_blocks(const Indexed& a, DType dtype, const void* from, void* to) {
    return visit_bits(dtype, [&]<class T>(T) {
        const int64_t packed = packed_columns<T>(a);
        if (packed > 0) pick_packed(a, packed, static_cast<const T*>(from), static_cast<T*>(to));
        return packed > 0;
    });
}

bool looks_at_ids(const Indexed& a) {
    return a.inner == 1 && (!a.rows || (a.outer == 1 && beyond_cache(a)));
}

bool put(const Indexed& a, DType dtype, const void* from, void* to) {
    return visit_bits(dtype, [&]<class T>(T) {
        return join_lines(a, static_cast<const T*>(from), static_cast<T*>(to), false,
                          [](T& place, T x) { place = x; });
    });
}

void put_rows(const Indexed& a, DType dtype, const void* x, const void* from, void* to) {
    const int64_t row = a.inner * int64_t(size_of(dtype));
    Scratch scratch;
    int64_t* const last = scratch.take<int64_t>(a.size);
    std::fill_n(last, a.size, -1);
    for (int64_t j = 0; j < a.n; ++j) last[a.ids[j]] = j;
    const auto source = [&](int64_t o, int64_t i) {
        return last[i] < 0 ? static_cast<const char*>(x) + (o * a.size + i) * row
                           : static_cast<const char*>(from) + (o * a.n + last[i]) * row;
    };
    parallel_each(a.outer * a.size, grain_for(row / 64 + 1), [&](int64_t item) {
        const int64_t o = item / a.size, i = item % a.size;
        if (i + ahead < a.size) ask(source(o, i + ahead), std::min<int64_t>(row, 1024));
        std::memcpy(static_cast<char*>(to) + item * row, source(o, i), size_t(row));
    });
}

bool add_up(const Indexed& a, DType dtype, const void* from, void* to) {
    if (a.outer == 1 && a.rows) return join_rows(Reduction::sum, a, 0, dtype, from, to);
    return visit_floating(dtype, [&]<class T>(T) {
        return join_lines(a, static_cast<const T*>(from), static_cast<T*>(to), true,
                          [](T& place, T x) { place += x; });
    });
}

}  // namespace mercer::cpu
