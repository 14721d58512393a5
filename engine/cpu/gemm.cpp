// C = A·B in blocks that follow the caches, on the kernels of kernels/gemm_kernels.cpp.
//
// B is packed once, by all threads, in panels of nr columns and kc steps of k. Then the threads
// claim runs of rows, large ones first; for each kc steps a thread packs its rows of A (into L2)
// and meets every panel with them. Where C is wide rather than tall, the roles are exchanged.
// Memory traffic: A and B once for packing, then the packed B (A) once per run of rows (columns), C
// in and out once per kc steps. Operands that are small, or met by too few rows or columns to repay
// it, are not packed but used where they are.
#include "engine/cpu/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

#include "engine/cancel.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/gemm_table.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_DISPATCH(cpu::GemmTable<float>, gemm_f32)
MERCER_DISPATCH(cpu::GemmTable<double>, gemm_f64)
}  // namespace mercer

namespace mercer::cpu {
namespace {

const GemmTable<float>& table_of(float) { return gemm_f32(); }
const GemmTable<double>& table_of(double) { return gemm_f64(); }

// --- cache sizes --------------------------------------------------------------------------------

struct Caches {
    int64_t l1 = 32 << 10, l2 = 512 << 10;
};

int64_t read_number(const char* path, char* text, size_t size) {
    std::FILE* file = std::fopen(path, "r");
    if (!file) return -1;
    const bool read = std::fgets(text, int(size), file) != nullptr;
    std::fclose(file);
    if (!read) return -1;
    char* end = nullptr;
    const int64_t n = std::strtoll(text, &end, 10);
    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

Caches read_caches() {
    Caches found;
    for (int index = 0; index < 8; ++index) {
        char path[96], text[64];
        const auto field = [&](const char* name) {
            std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                          name);
            return read_number(path, text, sizeof text);
        };
        const int64_t level = field("level"), size = field("size");
        if (level < 1 || field("type") < 0 || text[0] == 'I') continue;
        if (level == 1 && size > 0) found.l1 = std::clamp<int64_t>(size, 16 << 10, 256 << 10);
        if (level == 2 && size > 0) found.l2 = std::clamp<int64_t>(size, 128 << 10, 8 << 20);
    }
    return found;
}

const Caches& caches() {
    static const Caches found = read_caches();
    return found;
}

// --- a product's plan ---------------------------------------------------------------------------

int64_t divide_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
int64_t round_up(int64_t n, int64_t unit) { return divide_up(n, unit) * unit; }
/// Cuts n into equal blocks of at most `most`, multiples of `unit`.
int64_t block_size(int64_t n, int64_t most, int64_t unit) {
    most = std::max(unit, most / unit * unit);
    return std::min(most, round_up(divide_up(n, divide_up(n, most)), unit));
}

/// Whether the same column of `rows` rows, `stride` bytes apart, falls on cache sets that are
/// different enough (L1 finds a line by the low 12 bits of its address, and has 8 places or more
/// for those that agree).
bool spreads(int64_t stride, int rows) {
    const int64_t places = 4096 / std::gcd(stride, int64_t{4096});
    return (rows + places - 1) / places <= 4;
}

template <class T>
struct Product {
    int64_t m, n, k;
    MatrixView<const T> a, b;
    MatrixView<T> c;
    bool accumulate;
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
    return y;
}

template <class T>
void clear(const Product<T>& x) {
    for (int64_t i = 0; i < x.m; ++i)
        for (int64_t j = 0; j < x.n; ++j) x.c.data[i * x.c.row + j * x.c.col] = T(0);
}

/// How a product is cut.
struct Plan {
    int64_t kc;           // steps of k at a time
    int64_t packed_from;  // columns of b from here on are packed in panels
    bool a_direct;        // a is used where it is
    bool by_columns;      // threads claim columns, and pack all of a; else rows, and share packed b
    int64_t unit, most;   // what a claim is a multiple of, and at most
};

template <class T>
Plan plan_for(const GemmTable<T>& table, const Product<T>& x, int64_t threads) {
    constexpr int64_t size = sizeof(T);
    const int64_t l2 = caches().l2, mr = table.mr, nr = table.nr;
    Plan plan;
    // Panels and strips come from L2 at a fraction of its rate: kc need not fit L1.
    plan.kc = block_size(x.k, l2 / 16 / (nr * size), 8);
    const bool b_small = (x.b.row * (x.k - 1) + x.n) * size <= l2 / 4;
    const bool a_small = (x.a.col * (x.k - 1) + x.m) * size <= caches().l1 / 2;
    plan.a_direct = x.a.col == 1 ? x.n <= 24 * mr && spreads(x.a.row * size, table.mr)
                                 : x.a.row == 1 && (x.n <= nr || (a_small && x.n <= 4 * nr));
    plan.packed_from = 0;
    if (x.b.col == 1 && (b_small || x.m <= 2 * mr))
        plan.packed_from = x.n % table.lanes == 0 ? x.n : (x.n - 1) / nr * nr;
    const int64_t rows = std::max(mr, l2 / 4 / (plan.kc * size) / mr * mr);
    plan.by_columns = x.m <= rows && (threads == 1 || x.n > 2 * x.m);
    plan.unit = plan.by_columns ? nr : mr;
    plan.most = plan.by_columns ? x.n : rows;
    return plan;
}

// --- a product on one or more threads -----------------------------------------------------------

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
                // In units, but for the last of all.
                int64_t count = s_.threads == 1 ? end - begin : divide_up(end - begin, 2);
                count = std::min(count, std::max<int64_t>(1, plan_.most / plan_.unit));
                const uint64_t rest = turn == 0 ? uint64_t(begin + count) << 32 | uint64_t(end)
                                                : uint64_t(begin) << 32 | uint64_t(end - count);
                if (!part.compare_exchange_weak(found, rest, std::memory_order_relaxed)) continue;
                const int64_t first = (turn == 0 ? begin : end - count) * plan_.unit;
                const int64_t all = plan_.by_columns ? x_.n : x_.m;
                const bool last = first + count * plan_.unit + plan_.unit > all;
                return {first, last ? all - first : count * plan_.unit};
            }
        }
        return {0, 0};
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
        if (from < plan_.packed_from) {
            block.n = std::min(n, plan_.packed_from - from);
            block.rows_outer = block.k == x_.k;
            block.b = x_.b.data + p * x_.b.row + from;
            block.c = c + from * x_.c.col;
            t_.multiply(block);
        }
        if (from + n <= plan_.packed_from) return;
        block.b_packed = true;
        block.rows_outer = false;
        const int64_t first = std::max<int64_t>(0, from - plan_.packed_from) / t_.nr;
        const int64_t count = divide_up(from + n - plan_.packed_from, t_.nr) - first;
        // Threads begin at different panels, so that each finds the others' packed.
        const int64_t start = plan_.by_columns ? 0 : number_ * count / s_.threads;
        const int64_t strips = divide_up(m, t_.mr);
        const bool last = p + plan_.kc >= x_.k;
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

/// c (+)= a·b by up to `threads` threads.
template <class T>
void multiply_product(const GemmTable<T>& table, const Product<T>& x, int64_t threads) {
    if (x.k == 0) {
        if (!x.accumulate) clear(x);
        return;
    }
    if (x.m == 1 && x.b.col == 1 && x.c.col == 1) {
        // Columns of c that stay in L1 while the rows of b go by.
        const int64_t nc = caches().l1 / 2 / int64_t(sizeof(T));
        const int64_t grain = threads == 1 ? x.n : round_up(divide_up(x.n, 4 * threads), table.nr);
        return parallel_for(divide_up(x.n, grain), 1, [&](int64_t begin, int64_t end) {
            end = std::min(end * grain, x.n);
            for (int64_t j = begin * grain; j < end; j += nc)
                table.multiply_row(std::min(nc, end - j), x.k, x.a.data, x.a.col, x.b.data + j,
                                   x.b.row, x.c.data + j, x.accumulate);
        });
    }
    const Plan plan = plan_for(table, x, threads);
    // What is packed at a time stays within bounds.
    constexpr int64_t most = (int64_t{64} << 20) / int64_t(sizeof(T));
    const int64_t across = plan.by_columns ? x.m : x.n;
    const int64_t k_part = std::max(plan.kc, most / std::min<int64_t>(across, 4096));
    const int64_t n_part =
        plan.by_columns ? x.n
                        : std::max<int64_t>(1, most / std::min(x.k, k_part) / table.nr) * table.nr;
    if (k_part < x.k || n_part < x.n) {
        for (int64_t p = 0; p < x.k; p += k_part)
            for (int64_t j = 0; j < x.n; j += n_part) {
                Product<T> y = part(x, 0, x.m, j, std::min(n_part, x.n - j));
                y.k = std::min(k_part, x.k - p);
                y.a.data += p * x.a.col;
                y.b.data += p * x.b.row;
                y.accumulate = x.accumulate || p > 0;
                multiply_product(table, y, threads);
            }
        return;
    }
    Shared<T> shared{table, x, plan, threads};
    Scratch scratch;
    if (!plan.by_columns && plan.packed_from < x.n) {
        const int64_t states = shared.panels() * divide_up(x.k, plan.kc);
        shared.packed = scratch.take<T>(shared.width() * x.k);
        shared.state = scratch.take<std::atomic<uint8_t>>(states);
        std::uninitialized_fill_n(reinterpret_cast<uint8_t*>(shared.state), states, uint8_t{0});
    }
    // Units of rows or columns; the last one takes what is left over.
    const int64_t units = std::max<int64_t>(1, (plan.by_columns ? x.n : x.m) / plan.unit);
    shared.parts = scratch.take<std::atomic<uint64_t>>(8 * threads);
    for (int64_t i = 0; i < threads; ++i)
        new (&shared.part(i)) std::atomic<uint64_t>(uint64_t(units * i / threads) << 32 |
                                                    uint64_t(units * (i + 1) / threads));
    if (threads == 1) return Member<T>(shared, 0).run();
    parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
        for (; begin < end; ++begin) Member<T>(shared, begin).run();
    });
}

template <class T>
void multiply_batch(int64_t batch, int64_t m, int64_t n, int64_t k, MatrixView<const T> a,
                    const int64_t* a_offset, MatrixView<const T> b, const int64_t* b_offset,
                    MatrixView<T> c, const int64_t* c_offset, bool accumulate) {
    if (batch <= 0 || m <= 0 || n <= 0) return;
    // The kernels want c's columns next to each other. Swapping a and b (cᵀ = bᵀaᵀ) keeps every
    // chain as it is.
    const bool swap = n == 1 ? m > 1 : c.col != 1 && c.row == 1;
    if (swap) {
        std::swap(m, n);
        std::swap(a, b);
        std::swap(a_offset, b_offset);
        for (auto* view : {&a, &b}) std::swap(view->row, view->col);
        std::swap(c.row, c.col);
    }
    const GemmTable<T>& table = table_of(T{});
    const auto entry = [&](int64_t at) {
        Product<T> x{m, n, k, a, b, c, accumulate};
        x.a.data += a_offset ? a_offset[at] : 0;
        x.b.data += b_offset ? b_offset[at] : 0;
        x.c.data += c_offset ? c_offset[at] : 0;
        return x;
    };
    // Estimated time in ns, on the slow side of 50 flops (or 5 elements of c) per ns.
    const double lanes = double(table.lanes) / 16 * 50;
    const double item = double(m) * double(n) * (2.0 * double(k) / lanes + 0.2) + 100;
    constexpr double worth = 20000;  // what a thread should have to do
    const int64_t threads =
        item * double(batch) < 2 * worth
            ? 1
            : std::clamp<int64_t>(int64_t(item * double(batch) / worth), 1, thread_count());
    // Entries in parallel where there are enough of them, else each by all threads.
    if (threads == 1 || (batch >= threads && (batch >= 4 * threads || item < 2 * worth))) {
        const int64_t grain = threads == 1 ? batch : std::max<int64_t>(1, int64_t(worth / item));
        return parallel_for(batch, grain, [&](int64_t begin, int64_t end) {
            for (; begin < end; ++begin) multiply_product(table, entry(begin), 1);
        });
    }
    for (int64_t at = 0; at < batch; ++at) multiply_product(table, entry(at), threads);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b,
          MatrixView<T> c, bool accumulate) {
    multiply_batch<T>(1, m, n, k, a, nullptr, b, nullptr, c, nullptr, accumulate);
}

template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, MatrixView<const T> a,
                  const int64_t* a_offset, MatrixView<const T> b, const int64_t* b_offset,
                  MatrixView<T> c, const int64_t* c_offset, bool accumulate) {
    multiply_batch<T>(batch, m, n, k, a, a_offset, b, b_offset, c, c_offset, accumulate);
}

#define MERCER_GEMM(T)                                                                         \
    template void gemm<T>(int64_t, int64_t, int64_t, MatrixView<const T>, MatrixView<const T>, \
                          MatrixView<T>, bool);                                                \
    template void gemm_batched<T>(int64_t, int64_t, int64_t, int64_t, MatrixView<const T>,     \
                                  const int64_t*, MatrixView<const T>, const int64_t*,         \
                                  MatrixView<T>, const int64_t*, bool);
MERCER_GEMM(float)
MERCER_GEMM(double)
#undef MERCER_GEMM

}  // namespace mercer::cpu
