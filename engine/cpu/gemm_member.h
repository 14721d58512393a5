// The threads that share a product: what they have in common, and the way of each.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>

#include "engine/cancel.h"
#include "engine/cpu/gemm_plan.h"
#include "engine/scratch.h"

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
        nullptr;  // each thread's rows (columns) left, in units: begin and end

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
        const int64_t strips = plan_.a_direct     ? 0
                               : plan_.by_columns ? x_.m * x_.k
                                                  : (plan_.most + t_.mr) * plan_.kc;
        if (strips) strips_ = scratch_.take<T>(strips);
        if (plan_.by_columns && plan_.packed_from < x_.n)
            panel_ = scratch_.take<T>(t_.nr * plan_.kc);
    }

    void run() {
        Claim now = claim();
        if (now.count == 0) return;
        if (plan_.by_columns && !plan_.a_direct)
            for (int64_t p = 0; p < x_.k; p += plan_.kc) pack_rows(0, x_.m, p, strips_ + p * x_.m);
        for (Claim next; now.count > 0; now = next) {
            next = claim();
            for (int64_t p = 0; p < x_.k; p += plan_.kc) {
                poll_cancelled();  // while no other thread waits for this one
                multiply(now, next, p);
            }
        }
    }

private:
    struct Claim {
        int64_t first, count;
    };
    /// The next run of rows (or columns) to compute. A thread begins with its own part, the same
    /// in every product, for what its caches may still hold: large runs first, small ones to end
    /// together. Then it takes from the end of others' parts.
    Claim claim() {
        for (int64_t turn = 0; turn < s_.threads; ++turn) {
            std::atomic<uint64_t>& part = s_.part((number_ + turn) % s_.threads);
            uint64_t found = part.load(std::memory_order_relaxed);
            for (;;) {
                const int64_t begin = int64_t(found >> 32), end = int64_t(found & 0xffffffff);
                if (begin == end) break;
                const int64_t count = share_of(end - begin);
                const uint64_t rest = turn == 0 ? uint64_t(begin + count) << 32 | uint64_t(end)
                                                : uint64_t(begin) << 32 | uint64_t(end - count);
                if (!part.compare_exchange_weak(found, rest, std::memory_order_relaxed)) continue;
                const int64_t first = (turn == 0 ? begin : end - count) * plan_.unit;
                const int64_t all = plan_.by_columns ? x_.n : x_.m;
                const bool last =
                    first + count * plan_.unit + plan_.unit > all;  // what is left over
                return {first, last ? all - first : count * plan_.unit};
            }
        }
        return {0, 0};
    }

    /// How many of the units left in a part to take at once: none so few that reading all of b for
    /// them is dear, and where others may come to help, less at the end.
    int64_t share_of(int64_t left) const {
        const int64_t most = std::max<int64_t>(1, plan_.most / plan_.unit);
        if (s_.threads == 1) return divide_up(left, divide_up(left, most));
        const int64_t least = std::max<int64_t>(1, std::min(most, plan_.least / plan_.unit)),
                      count = std::max(least, std::min(most, divide_up(left, 2)));
        return left - count < least && left <= most ? left : std::min(left, count);
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
    T* shared_panel(int64_t panel, int64_t p) const {
        return s_.packed + p * s_.width() + panel * t_.nr * steps_at(p);
    }
    std::atomic<uint8_t>& state_of(int64_t panel, int64_t p) const {
        return s_.state[p / plan_.kc * s_.panels() + panel];
    }
    /// The packed panel; the first thread that comes packs it, others may have to wait.
    const T* panel_at(int64_t panel, int64_t p) const {
        if (plan_.by_columns) {
            pack_panel(panel, p, panel_);
            return panel_;
        }
        T* const to = shared_panel(panel, p);
        std::atomic<uint8_t>& state = state_of(panel, p);
        uint8_t found = state.load(std::memory_order_acquire);
        if (found == untouched &&
            state.compare_exchange_strong(found, begun, std::memory_order_acquire)) {
            pack_panel(panel, p, to);
            state.store(ready, std::memory_order_release);
            return to;
        }
        while (state.load(std::memory_order_acquire) != ready) std::this_thread::yield();
        return to;
    }

    /// Fetches a panel's packed form or, before it is packed, its source, while `tiles` tiles run.
    GemmAhead<T> fetch_panel(int64_t panel, int64_t p, int64_t tiles) const {
        constexpr int64_t line = 64 / sizeof(T);
        const int64_t k = steps_at(p), turns = std::max<int64_t>(1, k / t_.steps);
        if (!plan_.by_columns && state_of(panel, p).load(std::memory_order_relaxed) == ready) {
            const int64_t step = std::min(line, divide_up(t_.nr * t_.steps, tiles));
            return {shared_panel(panel, p), tiles, 1, turns * step, 0, step};
        }
        if (x_.b.col != 1) return {};  // long runs, which the machine sees coming
        const int64_t lines = divide_up(t_.nr, line), groups = std::max<int64_t>(1, tiles / lines);
        const int64_t rows = divide_up(k, groups);  // by each group of `lines` tiles
        const int64_t each = divide_up(rows, turns);
        return {x_.b.data + p * x_.b.row + (plan_.packed_from + panel * t_.nr) * x_.b.col,
                tiles,
                lines,
                rows * x_.b.row,
                line,
                each * x_.b.row};
    }
    /// Fetches rows of a that will be packed next, one for each tile (or, where columns are contiguous, a few columns' line).
    GemmAhead<T> fetch_rows(int64_t i, int64_t m, int64_t p) const {
        constexpr int64_t line = 64 / sizeof(T);
        const T* const from = x_.a.data + i * x_.a.row + p * x_.a.col;
        if (plan_.a_direct || plan_.by_columns || m == 0) return {};
        if (x_.a.col == 1) return {from, m, 1, x_.a.row, 0, t_.steps};
        if (x_.a.row == 1)
            return {
                from, divide_up(m, line) * t_.steps, t_.steps, line, x_.a.col, t_.steps * x_.a.col};
        return {};
    }

    void multiply(const Claim& now, const Claim& next, int64_t p) {
        const int64_t i = plan_.by_columns ? 0 : now.first, m = plan_.by_columns ? x_.m : now.count;
        const int64_t from = plan_.by_columns ? now.first : 0,
                      n = plan_.by_columns ? now.count : x_.n;
        GemmBlock<T> block{};
        block.m = m;
        block.k = steps_at(p);
        block.accumulate = x_.accumulate || p > 0;
        block.a_packed = !plan_.a_direct;
        block.a_row = x_.a.row;
        block.a_col = x_.a.col;
        block.a = x_.a.data + i * x_.a.row + p * x_.a.col;
        if (block.a_packed) {
            block.a = plan_.by_columns ? strips_ + p * x_.m : strips_;
            if (!plan_.by_columns) pack_rows(i, m, p, strips_);
        }
        block.b_row = x_.b.row;
        block.c_row = x_.c.row;
        block.c_col = x_.c.col;
        T* const c = x_.c.data + i * x_.c.row;
        const bool last = p + plan_.kc >= x_.k;
        if (from < plan_.packed_from) {
            block.n = std::min(n, plan_.packed_from - from);
            block.rows_outer = block.k == x_.k;
            block.b = x_.b.data + p * x_.b.row + from;
            block.c = c + from * x_.c.col;
            t_.multiply(block);
            if (last) finish(part(x_, i, m, from, block.n));
        }
        if (from + n <= plan_.packed_from) return;
        block.b_packed = true;
        block.rows_outer = false;
        const int64_t first = std::max<int64_t>(0, from - plan_.packed_from) / t_.nr;
        const int64_t count = divide_up(from + n - plan_.packed_from, t_.nr) - first;
        // Threads begin at different panels, so that each finds the others' packed.
        const int64_t start = plan_.by_columns ? 0 : number_ * count / s_.threads;
        const int64_t strips = divide_up(m, t_.mr);
        for (int64_t step = 0; step < count; ++step) {
            const int64_t panel = first + (start + step) % count;
            const int64_t j = plan_.packed_from + panel * t_.nr;
            block.n = std::min<int64_t>(t_.nr, x_.n - j);
            block.b = panel_at(panel, p);
            block.c = c + j * x_.c.col;
            block.ahead[0] = step + 1 < count
                                 ? fetch_panel(first + (start + step + 1) % count, p, strips)
                                 : GemmAhead<T>{};
            block.ahead[1] =
                last ? fetch_rows(next.first, next.count, 0) : fetch_rows(i, m, p + plan_.kc);
            block.ahead[1].done = step * strips;
            t_.multiply(block);
            if (last) finish(part(x_, i, m, j, block.n));
        }
    }

    enum : uint8_t { untouched, begun, ready };
    Shared<T>& s_;
    const GemmTable<T>& t_;
    const Product<T>& x_;
    const Plan& plan_;
    Scratch scratch_;
    T* strips_ = nullptr;  // a's packed rows: of a claim, or (by columns) all
    T* panel_ = nullptr;
    int64_t number_;
};

}  // namespace mercer::cpu
