// How gemm.cpp cuts a product: blocks that follow the caches.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/cpu/caches.h"
#include "engine/cpu/gemm.h"
#include "engine/scratch.h"

namespace mercer::cpu {

inline int64_t divide_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
inline int64_t round_up(int64_t n, int64_t unit) { return divide_up(n, unit) * unit; }
/// Elements in a cache line.
template <class T>
constexpr int64_t line = 64 / sizeof(T);
/// Cuts n into equal blocks of at most `most`, multiples of `unit`.
inline int64_t block_size(int64_t n, int64_t most, int64_t unit) {
    most = std::max(unit, most / unit * unit);
    return std::min(most, round_up(divide_up(n, divide_up(n, most)), unit));
}

/// How many of `rows` rows, `stride` bytes apart, share a place of L1: it finds a line by the low 12 bits of its address, and
/// has 8 places or more for those that agree.
inline int64_t crowding(int64_t stride, int64_t rows) {
    return divide_up(rows, 4096 / std::gcd(stride, int64_t{4096}));
}

template <class T>
struct Product {
    int64_t m, n, k;
    MatrixView<const T> a, b;
    MatrixView<T> c;
    bool accumulate;
    const Epilogue<T>* after;    // nullptr: nothing
    MatrixView<const T> bias;    // broadcast over c
    Order order = Order::chain;  // lanes: k along a's memory; strands: one row
    bool large = false;          // what c is part of is larger than caches are
    bool larger = false;         // even than the last one with others' part
    int64_t spare = 0;           // elements that may be read after b's last
};

/// Rows i … and columns j … of c.
template <class T>
Product<T> part(const Product<T>& x, int64_t i, int64_t m, int64_t j, int64_t n) {
    Product<T> y = x;
    y.m = m;
    y.n = n;
    y.a.data += i * x.a.row;
    y.b.data += j * x.b.col;
    y.c.data += i * x.c.row + j * x.c.col;
    y.bias.data += i * x.bias.row + j * x.bias.col;
    return y;
}

/// f of a c whose columns lie together, beside c's place; `read`: it begins with what c holds.
template <class T, class F>
void beside(int64_t m, int64_t n, const MatrixView<T>& c, bool read, F f) {
    Scratch scratch;
    T* const made = scratch.take<T>(m * n);
    const auto each = [&](auto copy) {
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) copy(c.data[i * c.row + j * c.col], made[i * n + j]);
    };
    if (read) each([](T& from, T& to) { to = from; });
    f(MatrixView<T>{made, n, 1});
    each([](T& to, T& from) { to = from; });
}

/// Whether c goes past the caches, if it is large: it need not be read, and is not read again soon.
template <class T>
bool streams(const Product<T>& x, bool large) {
    return large && !x.accumulate && !x.after && reinterpret_cast<uintptr_t>(x.c.data) % 64 == 0 &&
           x.c.row * int64_t(sizeof(T)) % 64 == 0;
}

/// Elements in whole registers beyond a row of b.
template <class T>
int64_t overhang(const GemmTable<T>& table, int64_t n) {
    return -n & (table.lanes - 1);
}
/// Whether b can be used where it is: whole registers of a row stay within what may be read; of the last, no more is read.
template <class T>
bool in_place(const GemmTable<T>& table, int64_t n, const MatrixView<const T>& b, int64_t spare) {
    const int64_t more = overhang(table, n);
    return b.col == 1 && (b.row >= more || spare >= more);
}

/// Whether a tile has no time for what a higher one has beside its fma.
template <class T>
bool is_low(const GemmTable<T>& table) {
    return table.mr < 8;
}
/// Whether b is too much for L3, beside what others keep there.
template <class T>
bool is_far(const GemmTable<T>& table, int64_t n, int64_t k) {
    const int64_t bytes = n * k * int64_t(sizeof(T));
    return is_low(table) ? bytes >= caches().l3 / 4 : bytes > caches().l3 / 2;
}

/// How a product is cut.
struct Plan {
    int64_t kc;           // steps of k at a time
    int64_t packed_from;  // columns of b from here on are packed in panels
    bool a_direct;        // a is used where it is
    int64_t strip;        // rows of a strip
    bool by_columns;      // threads claim columns, and pack all of a; else rows, and share packed b
    bool b_apart;         // a b that is used where it is is copied first, its rows apart
    bool b_own;      // but each thread packs a small b for itself, sooner than wait for another's
    bool long_rows;  // by columns: a claim's are packed together, while those before are met
    bool a_once;     // by columns: all of a stays packed; else it is, kc steps at a time
    int64_t grain;   // what claims begin at multiples of
    int64_t unit, most;  // what a claim should be a multiple of, and at most
    int64_t least;       // and at least, where there are others
};

template <class T>
Plan plan_for(const GemmTable<T>& table, const Product<T>& x, int64_t threads) {
    constexpr int64_t size = sizeof(T);
    const int64_t l2 = caches().l2, mr = table.mr, nr = table.nr;
    Plan plan;
    // Panels and strips come from L2 at a fraction of its rate: kc need not fit L1, and the longer it is, the
    // less c's way in and out costs. Of strips there remain enough to fetch the panel to come while they run.
    plan.kc = block_size(x.k, l2 / 256 / size, 8);
    const bool b_small = (x.b.row * (x.k - 1) + x.n) * size <= l2 / 4;
    const bool a_small = (x.a.col * (x.k - 1) + x.m) * size <= caches().l1 / 2;
    // A low tile has no time for rows of b that crowd a few sets of L1. Where many rows of a meet them, they are copied apart;
    // where they come from L2 soon enough they are left; and packing both is dearer, but for large products.
    const bool low_tile = is_low(table);
    const int64_t crowd = low_tile ? crowding(x.b.row * size, x.k) : 0;
    plan.b_apart = crowd > 8 && x.m >= 16 * mr * std::max<int64_t>(threads, 2) && x.a.col == 1 &&
                   x.k <= plan.kc;  // as multiply_pieces takes them
    const bool b_near = x.b.col == 1 && b_small &&
                        (crowd <= 16 || (plan.b_apart && threads == 1 && x.m <= 96 * mr));
    // Low strips read b more often, so packing a is repaid sooner; and from memory it is fetched ahead.
    const int64_t most = rows_in_place(table.mr, x.a.row * size);
    const bool low = most<std::min(x.m, mr), far = x.m * x.k * size> caches().l3 / 2;
    plan.a_direct =
        x.a.col == 1
            ? (x.n <= (low ? 10 : 24) * mr || x.k <= 32 || (low_tile && b_near)) && !(low && far)
            : x.a.row == 1 &&
                  (x.n <= nr || x.k <= (low_tile ? outer_steps : 32) || (a_small && x.n <= 4 * nr));
    plan.strip = plan.a_direct ? most : mr;
    plan.packed_from = 0;
    // Packing must be repaid by the rows of a that meet it, and more so where b is dense as it is.
    const bool b_met_rarely = x.m <= 2 * mr || (x.b.row <= 4 * nr && x.m <= 6 * mr);
    if (b_near || (x.b.col == 1 && b_met_rarely))
        plan.packed_from = in_place(table, x.n, x.b, x.spare) ? x.n : (x.n - 1) / nr * nr;
    // Rows far apart share few sets of the caches: so many stay there until the next strip meets them.
    if (plan.packed_from > 0 && !b_small && x.b.row > 4 * nr && x.m > mr)
        plan.kc = std::min<int64_t>(plan.kc, 128);
    const int64_t rows = std::max(mr, l2 / 16 * 5 / (plan.kc * size) / mr * mr);
    // Two threads that read all of a b beyond L2 where it is are slow; each its own columns of it, as many as the other, they
    // are not.
    const int64_t b_bytes = x.n * x.k * size;
    const bool halves = plan.a_direct && b_bytes > l2 && x.n % (nr * threads) == 0;
    plan.by_columns =
        x.m <= rows &&
        (threads == 1 || x.n > 2 * x.m ||
         (x.k > 16 * x.m && x.n >= nr * threads && (plan.packed_from < x.n || halves)));
    // What another thread packed comes from its caches, which may be far: on a host's other chiplet, say.
    plan.b_own = !plan.by_columns && x.m >= 4 * mr * threads &&
                 b_bytes <= std::max(l2, caches().l3 / threads) / 2;
    // Few strips have no time to copy a panel, and what is left comes slowly where its rows lie whole pairs of pages apart.
    // A tile copies one row of all a claim's panels; two blocks of so many rows are half of L2.
    const int64_t depth = int64_t(std::sqrt(double(l2 / 4 * table.steps / (nr * size)))) / 8 * 8;
    plan.long_rows = low_tile && plan.by_columns && !plan.a_direct && plan.packed_from == 0 &&
                     x.b.col == 1 && x.b.row * size % 8192 == 0 && x.m <= 10 * mr &&
                     x.k >= 2 * depth && x.m * x.k * size <= caches().l3 / 4 &&
                     is_far<T>(table, x.n, x.k);
    if (plan.long_rows) plan.kc = depth;
    plan.a_once = plan.long_rows || (plan.by_columns && x.m * x.k * size <= l2 / 2);
    plan.grain = plan.by_columns ? nr : x.m >> 32 ? mr : 1;
    plan.unit = plan.by_columns ? nr : plan.strip;
    plan.most = plan.long_rows ? depth / table.steps * nr : plan.by_columns ? x.n : rows;
    if (x.after && plan.packed_from == x.n)  // what is finished should still be in cache
        plan.most = std::min(plan.most, std::max(mr, l2 / 4 / (x.n * size) / mr * mr));
    const bool b_stays = x.n * plan.kc * size <= l2 / 2;
    plan.least = plan.by_columns ? (plan.a_once ? plan.unit : plan.most)
                 : b_stays       ? plan.unit
                                 : plan.most / 4;
    plan.least = std::min(plan.least, plan.most);
    return plan;
}

/// c = activation(c + bias), by the pointwise operations' own kernels.
template <class T>
void finish(const Product<T>& x);

}  // namespace mercer::cpu
