// The threads that share a product: what they have in common, and the way of each.
#pragma once

#include <atomic>
#include <thread>

#include "engine/cancel.h"
#include "engine/cpu/gemm_plan.h"
#include "engine/wait.h"

namespace mercer::cpu {

/// What the threads that share a product have in common.
template <class T>
struct Shared {
    const GemmTable<T>& table;
    const Product<T>& x;
    const Plan& plan;
    int64_t threads;
    T* packed = nullptr;                    // by rows: b's panels, one block of kc after another
    std::atomic<uint8_t>* state = nullptr;  // of each of them
    std::atomic<uint64_t>* parts =
        nullptr;  // each thread's rows (columns) left, in grains: begin and end

    /// Each in a cache line of its own.
    std::atomic<uint64_t>& part(int64_t thread) const { return parts[thread * 8]; }

    int64_t panels() const { return divide_up(x.n - plan.packed_from, int64_t{table.nr}); }
    int64_t width() const { return round_up(x.n - plan.packed_from, int64_t{table.lanes}); }
};

/// One thread's way through a product.
template <class T>
class Member {
public:
    Member(Shared<T>& shared, int64_t number)
        : s_(shared), t_(shared.table), x_(shared.x), plan_(shared.plan), number_(number) {
        const int64_t rows = plan_.by_columns ? x_.m : plan_.most;
        const int64_t strips = plan_.a_direct ? 0 : rows * (plan_.a_once ? x_.k : plan_.kc);
        if (strips) strips_ = scratch_.take<T>(strips);
        if (plan_.packed_from < x_.n && (plan_.by_columns || plan_.b_own))
            own_ = scratch_.take<T>(
                plan_.b_own ? s_.width() * x_.k
                            : 2 * plan_.kc * (plan_.long_rows ? plan_.most : int64_t{t_.nr}));
    }

    void run() {
        Claim now = claim();
        if (now.count == 0) return;
        if (plan_.a_once && !plan_.a_direct)
            for (int64_t p = 0; p < x_.k; p += plan_.kc) pack_rows(0, x_.m, p, strips_ + p * x_.m);
        for (; now.count > 0; now = claim()) {
            const Claim next = expected();
            for (int64_t p = 0; p < x_.k; p += plan_.kc) {
                poll_cancelled();  // while no other thread waits for this one
                multiply(now, next, p);
            }
            first_ = false;
        }
    }

private:
    struct Claim {
        int64_t first, count;
    };
    struct Range {
        int64_t begin, end;
    };
    Range rows_of(uint64_t part) const {
        return {int64_t(part >> 32) * plan_.grain,
                std::min(plan_.by_columns ? x_.n : x_.m, int64_t(part & 0xffffffff) * plan_.grain)};
    }
    /// What this thread will claim next, if nobody else does.
    Claim expected() const {
        const auto [begin, end] = rows_of(s_.part(number_).load(std::memory_order_relaxed));
        return {begin, begin < end ? share_of(end - begin) : 0};
    }
    /// The next run of rows (or columns) to compute. A thread begins with its own part, the same
    /// in every product, for what its caches may still hold: large runs first, small ones to end
    /// together. Then it takes from the end of others' parts.
    Claim claim() {
        for (int64_t turn = 0; turn < s_.threads; ++turn) {
            std::atomic<uint64_t>& part = s_.part((number_ + turn) % s_.threads);
            uint64_t found = part.load(std::memory_order_relaxed);
            for (;;) {
                const auto [begin, end] = rows_of(found);
                if (begin >= end) break;
                const int64_t count = share_of(end - begin),
                              cut = turn == 0 ? begin + count : round_up(end - count, plan_.grain);
                const uint64_t edge = uint64_t(divide_up(cut, plan_.grain)),
                               rest = turn == 0 ? edge << 32 | (found & 0xffffffff)
                                                : (found >> 32 << 32) | edge;
                if (part.compare_exchange_weak(found, rest, std::memory_order_relaxed))
                    return turn == 0 ? Claim{begin, count} : Claim{cut, end - cut};
            }
        }
        return {0, 0};
    }

    /// How many of the rows (columns) left in a part to take at once: none so few that reading all
    /// of b for them is dear, and where others may come to help, less at the end.
    int64_t share_of(int64_t left) const {
        if (s_.threads == 1 || left <= plan_.least) {
            const int64_t each = divide_up(left, divide_up(left, plan_.most));
            return std::min(left, round_up(each, plan_.unit));
        }
        const int64_t count = round_up(std::clamp(left / 2, plan_.least, plan_.most), plan_.unit);
        return left - count < plan_.least && left <= plan_.most ? left : std::min(left, count);
    }

    int64_t steps_at(int64_t p) const { return std::min(plan_.kc, x_.k - p); }

    void pack_rows(int64_t i, int64_t m, int64_t p, T* to) const {
        t_.pack_rows(m, steps_at(p), x_.a.data + i * x_.a.row + p * x_.a.col, x_.a.row, x_.a.col,
                     to);
    }
    /// Panel `panel`, that is columns packed_from + panel·nr …
    void pack_panel(int64_t panel, int64_t p, T* to) const {
        const int64_t j = plan_.packed_from + panel * t_.nr;
        t_.pack_columns(std::min<int64_t>(t_.nr, x_.n - j), steps_at(p),
                        x_.b.data + p * x_.b.row + j * x_.b.col, x_.b.row, x_.b.col, to);
    }
    T* place_of(int64_t panel, int64_t p) const {
        if (plan_.by_columns) return own_ + panel % 2 * t_.nr * plan_.kc;
        return (plan_.b_own ? own_ : s_.packed) + p * s_.width() + panel * t_.nr * steps_at(p);
    }
    std::atomic<uint8_t>& state_of(int64_t panel, int64_t p) const {
        return s_.state[p / plan_.kc * s_.panels() + panel];
    }
    /// Whether this thread, and no other, is to pack the panel now.
    bool take_panel(int64_t panel, int64_t p) const {
        if (own_) return plan_.by_columns || first_;
        std::atomic<uint8_t>& state = state_of(panel, p);
        uint8_t found = state.load(std::memory_order_acquire);
        return found == untouched &&
               state.compare_exchange_strong(found, begun, std::memory_order_acquire);
    }
    void give_panel(int64_t panel, int64_t p) const {
        if (!own_) state_of(panel, p).store(ready, std::memory_order_release);
    }
    /// The packed panel; the first thread that comes packs it, others may have to wait.
    const T* panel_at(int64_t panel, int64_t p) const {
        T* const to = place_of(panel, p);
        if (take_panel(panel, p)) {
            pack_panel(panel, p, to);
            give_panel(panel, p);
        } else if (!own_) {
            while (!spin_until(
                [&] { return state_of(panel, p).load(std::memory_order_acquire) == ready; }))
                std::this_thread::yield();
        }
        return to;
    }
    /// Has the panel packed while the block runs, if its rows are there to be copied and no other
    /// thread does.
    bool copy_panel(GemmBlock<T>& block, int64_t panel, int64_t p) const {
        const int64_t j = plan_.packed_from + panel * t_.nr;
        if (x_.b.col != 1 || x_.n - j < t_.nr || !take_panel(panel, p)) return false;
        block.copy = {x_.b.data + p * x_.b.row + j, place_of(panel, p), x_.b.row, block.k};
        return true;
    }

    /// Fetches a panel's packed form while `tiles` tiles run.
    GemmAhead<T> fetch_panel(int64_t panel, int64_t p, int64_t tiles) const {
        const bool packed = own_ ? !plan_.by_columns && !first_
                                 : state_of(panel, p).load(std::memory_order_relaxed) == ready;
        if (!packed) return {};
        const int64_t turns = std::max<int64_t>(1, steps_at(p) / t_.steps),
                      step = std::min(2 * line<T>, divide_up(t_.nr * t_.steps, tiles));
        return {place_of(panel, p), tiles, 1, turns * step, 0, step};
    }
    /// Fetches what fetch_panel() has too few tiles for.
    GemmAhead<T> rest_of_panel(const GemmAhead<T>& begun, int64_t steps) const {
        const int64_t done = begun.tiles * begun.major;
        if (done == 0 || done >= t_.nr * steps) return {};
        return {begun.from + done, begun.tiles, 1, steps / t_.steps * line<T>, 0, line<T>};
    }
    /// Fetches rows of a that will be packed next: a line every few steps where they are one run,
    /// else a row for each tile (or, where columns are contiguous, a few columns' line).
    GemmAhead<T> fetch_rows(int64_t i, int64_t m, int64_t p) const {
        const T* const from = x_.a.data + i * x_.a.row + p * x_.a.col;
        if (plan_.a_direct || plan_.a_once || m == 0) return {};
        if (x_.a.col == 1 && x_.a.row <= steps_at(p) + line<T>) {
            const int64_t each = std::max<int64_t>(1, steps_at(p) / t_.steps) * line<T>;
            return {from, divide_up(m * x_.a.row, each), 1, each, 0, line<T>};
        }
        if (x_.a.col == 1) return {from, m, 1, x_.a.row, 0, t_.steps};
        if (x_.a.row == 1)
            return {from,     divide_up(m, line<T>) * t_.steps,
                    t_.steps, line<T>,
                    x_.a.col, t_.steps * x_.a.col};
        return {};
    }

    void multiply(const Claim& now, const Claim& next, int64_t p) {
        const int64_t i = plan_.by_columns ? 0 : now.first, m = plan_.by_columns ? x_.m : now.count;
        const int64_t from = plan_.by_columns ? now.first : 0,
                      n = plan_.by_columns ? now.count : x_.n;
        GemmBlock<T> block{};
        block.m = m, block.k = steps_at(p), block.accumulate = x_.accumulate || p > 0;
        block.stream = block.k == x_.k && streams(x_, x_.large);
        block.a_packed = !plan_.a_direct, block.a_row = x_.a.row, block.a_col = x_.a.col;
        block.a = x_.a.data + i * x_.a.row + p * x_.a.col;
        if (block.a_packed) {
            block.a = plan_.a_once ? strips_ + p * x_.m : strips_;
            if (!plan_.a_once) pack_rows(i, m, p, strips_);
        }
        block.b_row = x_.b.row, block.c_row = x_.c.row;
        T* const c = x_.c.data + i * x_.c.row;
        const bool last = p + plan_.kc >= x_.k;
        if (from < plan_.packed_from) {
            block.n = std::min(n, plan_.packed_from - from);
            // Rows that crowd in L1 may in L2: a strip stays there for all of b.
            block.rows_outer = block.k == x_.k || plan_.strip < t_.mr;
            block.b = x_.b.data + p * x_.b.row + from;
            block.c = c + from;
            if (!last && x_.b.row <= 2 * t_.nr) {  // dense rows, met by few of a: on to the next
                const int64_t tiles = divide_up(m, plan_.strip) * divide_up(block.n, t_.nr),
                              each = block.k / t_.steps * line<T>;
                block.ahead[0] = {block.b + block.k * x_.b.row, tiles, 1, each, 0, line<T>};
                block.ahead[1] = block.ahead[0];
                block.ahead[1].from += tiles * each;
            } else if (!block.rows_outer &&
                       m > plan_.strip) {  // a few lines of each row: those of the next panel
                const int64_t strips = divide_up(m, plan_.strip),
                              tiles = strips * (block.n / t_.nr - 1);
                block.ahead[0] = {block.b + t_.nr, tiles,    strips,
                                  t_.nr,           x_.b.row, t_.steps * x_.b.row};
                block.ahead[1] = block.ahead[0];
                block.ahead[1].from += t_.steps / 2 * x_.b.row;
            }
            t_.multiply(block);
            if (last) finish(part(x_, i, m, from, block.n));
            block.ahead[0] = block.ahead[1] = {};
        }
        if (from + n <= plan_.packed_from) return;
        block.b_packed = true;
        block.rows_outer = false;
        if (plan_.long_rows) {
            block.c = c + from;
            return multiply_long_rows(block, now, next, p);
        }
        const int64_t first = std::max<int64_t>(0, from - plan_.packed_from) / t_.nr;
        const int64_t count = divide_up(from + n - plan_.packed_from, t_.nr) - first;
        // Threads begin at different panels, so that each finds the others' packed.
        const int64_t start = plan_.by_columns ? 0 : number_ * count / s_.threads;
        const int64_t strips = divide_up(m, plan_.strip);
        block.ahead[1] =
            last ? fetch_rows(next.first, next.count, 0) : fetch_rows(i, m, p + plan_.kc);
        // What is fetched long before it is used would be driven out again.
        block.ahead[1].done = std::min<int64_t>(0, block.ahead[1].tiles - count * strips);
        const bool idle = block.ahead[1].tiles == 0;
        bool copied = false;  // this panel, while the one before was in use
        for (int64_t step = 0; step < count; ++step) {
            const int64_t panel = first + (start + step) % count;
            const int64_t j = plan_.packed_from + panel * t_.nr;
            block.n = std::min<int64_t>(t_.nr, x_.n - j);
            block.b = copied ? place_of(panel, p) : panel_at(panel, p);
            block.c = c + j;
            block.ahead[0] = {};
            block.copy = {};
            const int64_t after = first + (start + step + 1) % count;
            copied =
                step + 1 < count && !starts(after - first, count) && copy_panel(block, after, p);
            if (step + 1 < count && !copied) block.ahead[0] = fetch_panel(after, p, strips);
            if (step + 1 == count && (!last || next.count > 0))
                block.ahead[0] = fetch_panel(after, last ? 0 : p + plan_.kc, strips);
            if (idle) block.ahead[1] = rest_of_panel(block.ahead[0], block.k);
            t_.multiply(block);
            if (copied) give_panel(after, p);
            if (last) finish(part(x_, i, m, j, block.n));
            block.ahead[1].done += strips;
        }
    }

    /// One claim's columns, and meanwhile the rows of b to come are packed, if they are whole panels and the tiles long enough:
    /// else before they are met.
    void multiply_long_rows(GemmBlock<T>& block, const Claim& now, const Claim& next, int64_t p) {
        const int64_t size = plan_.most * plan_.kc;
        if (there_.first != now.first || there_.count != now.count)
            t_.pack_columns(now.count, block.k, x_.b.data + p * x_.b.row + now.first, x_.b.row, 1,
                            own_ + half_ * size);
        block.b = own_ + half_ * size;
        block.n = now.count;
        const bool last = p + plan_.kc >= x_.k;
        const int64_t q = last ? 0 : p + plan_.kc;
        there_ = last ? next : now;
        if (there_.count % t_.nr != 0 || there_.count / t_.nr > block.k / t_.steps) there_ = {};
        half_ ^= 1;
        if (there_.count > 0)
            block.copy = {x_.b.data + q * x_.b.row + there_.first, own_ + half_ * size, x_.b.row,
                          steps_at(q), there_.count / t_.nr};
        t_.multiply(block);
        if (last) finish(part(x_, 0, x_.m, now.first, now.count));
    }

    /// Whether a thread that shares panels begins with this one, and should not find it begun.
    bool starts(int64_t panel, int64_t count) const {
        return !own_ && (panel * s_.threads + count - 1) / count * count / s_.threads == panel;
    }

    enum : uint8_t { untouched, begun, ready };
    Shared<T>& s_;
    const GemmTable<T>& t_;
    const Product<T>& x_;
    const Plan& plan_;
    Scratch scratch_;
    T* strips_ = nullptr;  // a's packed rows: of a claim, or (by columns) all
    T* own_ = nullptr;     // panels of its own; by columns: one (a claim's) in use, and the next
    Claim there_{};        // of long rows: what is packed in one half of own_
    int64_t half_ = 0;     // which
    bool first_ = true;    // claim, in which own panels are packed
    int64_t number_;
};

}  // namespace mercer::cpu
