// Sorting by radix on keys that order like the elements, least significant byte first, with the index as payload. Short
// rows are merged, or are columns that a network puts in order side by side. Traffic of a long row: for each of 4 (8) bytes of the key that is not the same for all, the items
// once in and once out.
#include <type_traits>
#include <utility>

#include "engine/cpu/canonical.h"
#include "engine/cpu/sort_table.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
using ItemOf = std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>;

template <class T>
inline constexpr bool floating = T(0.5) != T(0);

// Key and element. Positive numbers get their sign bit set, negative ones are complemented: then bits order like numbers.
template <class T>
MERCER_INLINE KeyOf<T> key_of(T x, bool descending) {
    using Key = KeyOf<T>;
    constexpr int top = 8 * sizeof(T) - 1;
    constexpr Key sign = Key(1) << top;
    Key u;
    __builtin_memcpy(&u, &x, sizeof u);
    if constexpr (floating<T>) {
        u = x == T(0) ? Key(0) : u;  // −0 is 0
        const Key key = u ^ (-(u >> top) | sign);
        return x != x ? ~Key(0) : descending ? ~key : key;
    } else {
        return descending ? ~(u ^ sign) : u ^ sign;
    }
}
template <class T>
MERCER_INLINE T element_of(KeyOf<T> key, bool descending) {
    using Key = KeyOf<T>;
    constexpr int top = 8 * sizeof(T) - 1;
    constexpr Key sign = Key(1) << top;
    if (descending) key = ~key;
    const Key u = floating<T> ? key ^ (-(~key >> top) | sign) : key ^ sign;
    T x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

template <class T>
MERCER_INLINE ItemOf<T> item_of(KeyOf<T> key, int64_t index) {
    return ItemOf<T>(key) << (8 * sizeof(T)) | ItemOf<T>(index);
}
template <class T>
MERCER_INLINE KeyOf<T> key_in(ItemOf<T> item) {
    return KeyOf<T>(item >> (8 * sizeof(T)));
}

template <class Item>
MERCER_INLINE void merge_from(const Item* a, const Item* a_end, const Item* b, const Item* b_end,
                              Item* to, int64_t n) {
    for (; n > 0 && a < a_end && b < b_end; --n) {
        const bool left = *a < *b;
        *to++ = left ? *a : *b;
        a += left;
        b += !left;
    }
    for (; n > 0 && a < a_end; --n) *to++ = *a++;
    for (; n > 0 && b < b_end; --n) *to++ = *b++;
}

// Up to 16 items in order: each goes to the place that the number of those before it says. No branches. Of equal keys the
// one that stands first comes first: its index is the smaller.
template <class T, class Item = ItemOf<T>>
MERCER_INLINE void sort_run(Item* x, int64_t n) {
    using Key = KeyOf<T>;
    constexpr int run = 16;
    Key v[run], rank[run] = {};
    Item old[run];
    for (int i = 0; i < n; ++i) old[i] = x[i], v[i] = key_in<T>(x[i]);
    for (int i = int(n); i < run; ++i) v[i] = ~Key(0);
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < run; ++i)
            rank[i] += Key(v[j] < v[i]) | (Key(v[j] == v[i]) & Key(j < i));
    for (int i = 0; i < n; ++i) x[rank[i]] = old[i];
}

// Runs of 16, then merged pairwise.
template <class T, class Item = ItemOf<T>>
Item* merge_sort(Item* x, Item* spare, int64_t n) {
    constexpr int64_t run = 16;
    for (int64_t i = 0; i < n; i += run) sort_run<T>(x + i, i + run < n ? run : n - i);
    for (int64_t width = run; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            const int64_t middle = i + width < n ? i + width : n,
                          end = i + 2 * width < n ? i + 2 * width : n;
            merge_from(x + i, x + middle, x + middle, x + end, spare + i, end - i);
        }
        std::swap(x, spare);
    }
    return x;
}

// By the bytes of the key; equal bytes keep their order, so indices, ascending at first, break ties.
template <class T, class Item = ItemOf<T>>
Item* radix_sort(Item* x, Item* spare, int64_t n) {
    constexpr int bytes = int(sizeof(T));
    uint32_t counts[bytes][256] = {};
    for (int64_t i = 0; i < n; ++i) {
        const auto key = key_in<T>(x[i]);
        for (int b = 0; b < bytes; ++b) ++counts[b][(key >> (8 * b)) & 255];
    }
    for (int b = 0; b < bytes; ++b) {
        const int shift = 8 * (bytes + b);
        uint32_t* place = counts[b];
        if (place[int(x[0] >> shift) & 255] == uint32_t(n)) continue;  // all alike
        uint32_t begin = 0;
        for (int d = 0; d < 256; ++d) begin += std::exchange(place[d], begin);
        for (int64_t i = 0; i < n; ++i) spare[place[int(x[i] >> shift) & 255]++] = x[i];
        std::swap(x, spare);
    }
    return x;
}

template <class T, class Item = ItemOf<T>>
Item* in_order(Item* x, Item* spare, int64_t n) {
    return n < 64 * int64_t(sizeof(T)) ? merge_sort<T>(x, spare, n) : radix_sort<T>(x, spare, n);
}

template <class T>
void* sort(const void* from, int64_t n, int64_t first, bool descending, void* items, void* spare) {
    using Item = ItemOf<T>;
    const T* x = static_cast<const T*>(from);
    Item* to = static_cast<Item*>(items);
    for (int64_t i = 0; i < n; ++i) to[i] = item_of<T>(key_of(x[i], descending), first + i);
    return in_order<T>(to, static_cast<Item*>(spare), n);
}

template <class T>
void merge(const void* left, int64_t na, const void* right, int64_t nb, int64_t begin, int64_t end,
           void* out) {
    using Item = ItemOf<T>;
    const Item *a = static_cast<const Item*>(left), *b = static_cast<const Item*>(right);
    // How many of the first `begin` come from a: the least i with b[begin − i − 1] < a[i].
    int64_t low = begin > nb ? begin - nb : 0, high = begin < na ? begin : na;
    while (low < high) {
        const int64_t i = (low + high) / 2;
        if (b[begin - i - 1] < a[i])
            high = i;
        else
            low = i + 1;
    }
    merge_from(a + low, a + na, b + begin - low, b + nb, static_cast<Item*>(out) + begin,
               end - begin);
}

// What comes after every number in order, or is equal to the last.
template <class T>
MERCER_INLINE T last_number(bool descending) {
    return descending ? lower_end<T> : upper_end<T>;
}
/// a before b, or level with it; no NaN is.
template <bool descending, class T>
MERCER_INLINE Mask<T> not_after(Vec<T> a, Vec<T> b) {
    return descending ? a >= b : a <= b;
}

// A key that at least k of x[0, n) are not above, and not many more: the k-th smallest of the firsts of groups (i modulo
// their number), found bit by bit as far as it matters. The largest key if there are too few numbers.
template <bool descending, class T, class Key = KeyOf<T>>
MERCER_INLINE Key bar_of(const T* x, int64_t n, int64_t k) {
    constexpr int most = 1024, lanes = Vec<T>::lanes;
    const T last = last_number<T>(descending);
    int groups = n < 512 ? 16 : 64;
    while (groups < 2 * k && groups <= most) groups *= 2;
    if (groups > most || 2 * groups > n) return ~Key(0);
    alignas(64) T first[most];
    for (int i = 0; i < groups; i += lanes) Vec<T>(last).store(first + i);
    for (int64_t i0 = 0; i0 < n; i0 += groups) {
        const auto take = [&](int i, Vec<T> v) MERCER_STEP {
            const Vec<T> f = Vec<T>::load(first + i);
            select(not_after<descending>(v, f), v, f).store(first + i);
        };
        const int size = int(n - i0 < groups ? n - i0 : groups);
        int i = 0;
        for (; i + lanes <= size; i += lanes) take(i, Vec<T>::load(x + i0 + i));
        if (i < size) take(i, Vec<T>::load(x + i0 + i, size - i, last));
    }
    Key least[most], low = ~Key(0), high = 0;
    for (int i = 0; i < groups; ++i) {
        least[i] = key_of(first[i], descending);
        low = least[i] < low ? least[i] : low;
        high = least[i] > high ? least[i] : high;
    }
    Key bar = low;
    if (k > 1) {
        Key bit = low == high ? 0 : Key(1) << (8 * sizeof(Key) - 1);
        while (bit && !((low ^ high) & bit)) bit >>= 1;  // above it, all are alike
        bar = bit ? low & ~(2 * bit - 1) : low;
        for (int rounds = 20; bit && rounds > 0; bit >>= 1, --rounds) {
            Key within = 0;
            for (int i = 0; i < groups; ++i) within += least[i] <= (bar | (bit - 1));
            if (int64_t(within) < k) bar |= bit;
        }
        if (bit) bar |= 2 * bit - 1;
    }
    return bar < key_of(last, descending) ? bar : ~Key(0);  // a group without numbers has `last`
}

// Candidates below the bar are gathered until the buffer is full, then the first k of them stay, and the last of these is
// the next bar. Where no element of a block passes the bar as a number, none has its key taken.
template <bool descending, class T>
MERCER_INLINE void top_of(const T* x, int64_t n, int64_t k, void* items, void* other) {
    using Item = ItemOf<T>;
    using Key = KeyOf<T>;
    constexpr int block = 64, part = 16, lanes = Vec<T>::lanes;
    Item *best = static_cast<Item*>(items), *spare = static_cast<Item*>(other);
    int64_t held = 0;
    const int64_t room = cpu::top_room(k);
    const Key last = key_of(last_number<T>(descending), descending);
    Key bar = bar_of<descending>(x, n, k);
    int64_t enough = k;  // held from which on what is not below the bar stays out
    if (bar != ~Key(0)) ++bar, enough = 0;
    const auto settle = [&] {
        Item* sorted = in_order<T>(best, spare, held);
        if (sorted != best) spare = best, best = sorted;
        held = held < k ? held : k;
        if (held == k) bar = key_in<T>(best[k - 1]);
    };
    // Whether one of x[from, from + size) might be below the bar; size is a multiple of the lanes.
    const auto may_pass = [&](int64_t from, int size) MERCER_STEP {
        if (held < enough || bar > last) return true;
        const Vec<T> limit(element_of<T>(bar, descending));
        Mask<T> passes = not_after<descending>(Vec<T>::load(x + from), limit);
        for (int i = lanes; i < size; i += lanes)
            passes = passes || not_after<descending>(Vec<T>::load(x + from + i), limit);
        return any(passes);
    };
    for (int64_t i0 = 0; i0 < n; i0 += part) {
        if (i0 % block == 0 && i0 + block <= n && !may_pass(i0, block)) {
            i0 += block - part;
            continue;
        }
        const int size = int(n - i0 < part ? n - i0 : part);
        if (size == part && !may_pass(i0, part)) continue;
        if (held + size > room) settle();
        Key keys[part];
        if (size == part)
            for (int i = 0; i < part; ++i) keys[i] = key_of(x[i0 + i], descending);
        else
            for (int i = 0; i < size; ++i) keys[i] = key_of(x[i0 + i], descending);
        for (int i = 0; i < size; ++i) {
            best[held] = item_of<T>(keys[i], i0 + i);
            held += keys[i] < bar || held < enough;  // an equal one that comes later is not better
        }
    }
    settle();
    if (best != static_cast<Item*>(items))
        for (int64_t i = 0; i < k; ++i) static_cast<Item*>(items)[i] = best[i];
}
template <class T>
void top(const void* from, int64_t n, int64_t k, bool descending, void* items, void* spare) {
    const T* x = static_cast<const T*>(from);
    descending ? top_of<true>(x, n, k, items, spare) : top_of<false>(x, n, k, items, spare);
}

template <class T>
void write(const void* from, int64_t n, const void* row, bool descending, void* to,
           int64_t* indices) {
    using Item = ItemOf<T>;
    const Item* items = static_cast<const Item*>(from);
    const T* x = static_cast<const T*>(row);
    T* values = static_cast<T*>(to);
    constexpr Item low = (Item(1) << (8 * sizeof(T))) - 1;
    for (int64_t i = 0; i < n; ++i) indices[i] = int64_t(items[i] & low);
    if (!values) return;
    for (int64_t i = 0; i < n; ++i) {
        const T v = element_of<T>(key_in<T>(items[i]), descending);
        values[i] =
            floating<T> && !(v != T(0) && v == v) ? x[indices[i]] : v;  // zeros keep their sign
    }
}

// One column to a lane: the same comparisons for all of them, and no branches. Of 4 bytes an element, an item is one
// number; of 8 it has two parts, a row of keys and then one of indices. Keys have their highest bit turned over, and so are
// in order as signed numbers.
template <class T>
void columns(const void* from, int64_t n, int64_t count, int64_t k, bool descending, void* to,
             int64_t* indices) {
    using V = Vec<int64_t>;
    using Key = KeyOf<T>;
    constexpr int parts = sizeof(T) / 4, lanes = V::lanes;
    constexpr uint64_t highest = uint64_t(1) << 63;
    alignas(64) int64_t items[16 * cpu::longest_column];
    // As many together as have n items each in the first cache, at most 8 registers of them.
    const int64_t fit = 4096 / (n * lanes * parts);
    const int pitch = lanes * int(fit < 1 ? 1 : fit > 8 ? 8 : fit);
    int rounds = 0;
    while (int64_t(1) << rounds < n) ++rounds;
    const int64_t top = int64_t(1) << rounds >> 1;
    // Of few, each is put in its place among the first, which drives one out: less work than the network's.
    const bool few = 4 * k < rounds * (rounds - 1);
    for (int64_t c0 = 0; c0 < count; c0 += pitch) {
        const int width = int(count - c0 < pitch ? count - c0 : pitch);
        const T* const x = static_cast<const T*>(from) + c0;
        const auto row = [&](int64_t i) MERCER_STEP { return items + i * pitch * parts; };
        // Row j with rows [i, end) one after the other: the smaller items to these, the larger ones to j. Masks are joined by
        // their bits: of one lane && would branch.
        const auto exchange = [&](int64_t i, int64_t end, int64_t j) MERCER_STEP {
            for (int c = 0; c < width; c += lanes) {
                int64_t* const q = row(j) + c;
                V b = V::load(q), late = parts > 1 ? V::load(q + pitch) : b;
                for (int64_t t = i; t < end; ++t) {
                    int64_t* const p = row(t) + c;
                    const V a = V::load(p), early = parts > 1 ? V::load(p + pitch) : a;
                    auto swap = b < a;
                    if constexpr (parts > 1) swap.v = swap.v | ((b == a).v & (late < early).v);
                    select(swap, b, a).store(p);
                    if constexpr (parts > 1) select(swap, late, early).store(p + pitch);
                    b = select(swap, a, b), late = select(swap, early, late);
                }
                b.store(q);
                if constexpr (parts > 1) late.store(q + pitch);
            }
        };
        for (int64_t i = 0; i < n; ++i) {
            const int64_t last = few && i > k ? k : i;
            const T* const of = x + i * count;
            int64_t* const item = row(last);
            for (int c = 0; c < width; ++c) {
                const uint64_t key = uint64_t(key_of(of[c], descending)) << (64 - 8 * sizeof(T));
                item[c] = int64_t((parts > 1 ? key : key | uint64_t(i)) ^ highest);
                if constexpr (parts > 1) item[c + pitch] = i;
            }
            if (few) exchange(0, last, last);
        }
        // Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2 M).
        for (int64_t p = few ? 0 : top; p > 0; p /= 2)
            for (int64_t q = top, r = 0, d = p; q >= p; d = q - p, q /= 2, r = p)
                for (int64_t i = 0; i + d < n; ++i)
                    if ((i & p) == r) exchange(i, i + 1, i + d);
        for (int64_t i = 0; i < k; ++i) {
            const int64_t* const item = row(i);
            int64_t* const at = indices + i * count + c0;
            for (int c = 0; c < width; ++c)
                at[c] = parts > 1 ? item[c + pitch] : item[c] & int64_t(UINT32_MAX);
            T* const values = static_cast<T*>(to) + i * count + c0;
            Key odd = 0;
            for (int c = 0; to && c < width; ++c) {
                const uint64_t key = (uint64_t(item[c]) ^ highest) >> (64 - 8 * sizeof(T));
                const T v = element_of<T>(Key(key), descending);
                values[c] = v;
                odd |= Key(v != v) | Key(v == T(0));
            }
            for (int c = 0; floating<T> && odd && c < width; ++c)
                values[c] = x[at[c] * count + c];  // zeros keep their sign, NaN its bits
        }
    }
}

template <class T>
constexpr cpu::SortTable::Kernels kernels_of = {
    int(sizeof(ItemOf<T>)), sort<T>, merge<T>, top<T>, write<T>, columns<T>};

}  // namespace

extern const cpu::SortTable sort_table = {
    {kernels_of<float>, kernels_of<double>, kernels_of<int32_t>, kernels_of<int64_t>}};

}  // namespace mercer::MERCER_ISA
