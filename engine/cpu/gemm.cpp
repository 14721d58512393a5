// C = A·B in blocks that follow the caches, on the kernels of kernels/gemm_kernels.cpp.
//
// B is packed in panels of nr columns and kc steps of k, each while the one before it is multiplied:
// once by all threads together, or, where it is small, by each for itself. Threads claim runs of
// rows, large ones first; for each kc steps a thread packs its rows of A (into L2) and meets every
// panel with them. Where C is wide rather than tall, or k long beside both, the roles are exchanged.
// Memory traffic: A and B once for packing, then the packed B (A) once per run of rows (columns), C
// in and out once per kc steps. Operands that are small, or met by too few rows or columns to repay
// it, are not packed but used where they are.
#include "engine/cpu/gemm.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "engine/cpu/gemm_in_place.h"
#include "engine/cpu/gemm_member.h"
#include "engine/cpu/instantiate.h"
#include "engine/cpu/pointwise.h"
#include "engine/error.h"
#include "engine/parallel.h"

namespace mercer {
MERCER_DISPATCH_TYPED(cpu::GemmTable, gemm)
const cpu::PointwiseKernels& add_kernels();  // engine/ops/pointwise.cpp
}  // namespace mercer

namespace mercer::cpu {

template <class T>
void finish(const Product<T>& x) {
    if (!x.after) return;
    const auto step = [&](const PointwiseKernels& kernels, MatrixView<const T> operand) {
        void* const c = x.c.data;
        const void* const in[] = {c, operand.data};
        const int64_t in_row[] = {x.c.row, operand.row}, in_col[] = {1, operand.col};
        kernels.forward[sizeof(T) == 8](
            {x.m, x.n, in, in_row, in_col, &c, x.c.row, nullptr, false});
    };
    if (x.after->bias) step(add_kernels(), x.bias);
    if (x.after->activation) step(*x.after->activation, {x.c.data, x.c.row, x.c.col});
}

namespace {

/// Summed in lanes.
template <class T>
void multiply_in_lanes(const GemmTable<T>& table, const Product<T>& x, int64_t threads) {
    constexpr int64_t few = 1024, l = sum_lanes<T>;
    alignas(64) T packed[few];
    std::optional<Scratch> scratch;
    const T* b = x.b.data;
    if (x.n > 1 || x.b.row != 1) {
        const int64_t size = round_up(x.k, l) * x.n;
        T* const to = size <= few ? packed : scratch.emplace().take<T>(size);
        table.pack_lanes(x.n, x.k, x.b.data, x.b.row, x.b.col, to);
        b = to;
    }
    const int64_t rows = threads == 1 ? x.m : round_up(divide_up(x.m, 4 * threads), l);
    const bool far = x.m * x.k * int64_t(sizeof(T)) > caches().l2 / 2;
    const auto run = far ? table.multiply_lanes_far : table.multiply_lanes;
    const auto multiply = [&](int64_t i, int64_t m) {
        run(m, x.n, x.k, x.a.data + i * x.a.row, x.a.row, b, x.c.data + i * x.c.row, x.c.row,
            x.accumulate);
        finish(part(x, i, m, 0, x.n));
    };
    if (threads == 1) return multiply(0, x.m);
    parallel_for(divide_up(x.m, rows), 1, [&](int64_t begin, int64_t end) {
        multiply(begin * rows, std::min(end * rows, x.m) - begin * rows);
    });
}

/// Few rows of a, b where it is: read in long runs.
template <class T>
void multiply_few(const GemmTable<T>& table, const Product<T>& x, int64_t threads) {
    Scratch scratch;
    const T* strips = nullptr;
    if (x.m > 2) {
        T* const to = scratch.take<T>(x.m * x.k);
        table.pack_rows(x.m, x.k, x.a.data, x.a.row, x.a.col, to);
        strips = to;
    }
    // Columns of c that stay in L1 while the rows of b go by; of strips, in runs that memory likes.
    const int64_t held = std::min(caches().l1 / 2 / x.m, strips ? int64_t{2048} : INT64_MAX),
                  nc = round_up(held / int64_t(sizeof(T)), table.nr);
    const int64_t grain = threads == 1 ? x.n : round_up(divide_up(x.n, 4 * threads), table.nr);
    parallel_for(divide_up(x.n, grain), 1, [&](int64_t begin, int64_t end) {
        end = std::min(end * grain, x.n);
        for (int64_t j = begin * grain; j < end; j += nc) {
            const int64_t n = std::min(nc, end - j);
            const T* const b = x.b.data + j;
            T* const c = x.c.data + j;
            if (strips) {
                // Apart from c's rows, which may crowd a set of L1.
                Scratch inner;
                const int64_t step = nc + line<T>;
                T* const sums = inner.take<T>(x.m * step);
                if (x.accumulate)
                    for (int64_t i = 0; i < x.m; ++i)
                        std::copy_n(c + i * x.c.row, n, sums + i * step);
                table.multiply_strips(x.m, n, x.k, strips, b, x.b.row, sums, step, x.accumulate);
                for (int64_t i = 0; i < x.m; ++i) std::copy_n(sums + i * step, n, c + i * x.c.row);
            } else
                table.multiply_rows(x.m, n, x.k, x.a.data, x.a.row, x.a.col, b, x.b.row, c, x.c.row,
                                    x.accumulate);
            finish(part(x, 0, x.m, j, n));
        }
    });
}

/// Both operands where they are, rows of a in pieces; but where it is repaid each thread has a b of its own: what two
/// cores read takes either of them longer than what one does.
template <class T>
void multiply_pieces(const GemmTable<T>& table, const Product<T>& x, const Plan& plan,
                     int64_t threads, const T* const* next) {
    // A few for each thread, so that all end together, but none so low that reading b for it is dear.
    const int64_t each = std::clamp<int64_t>(x.m / (2 * plan.strip * threads), 1, 4),
                  rows = std::min(x.after ? plan.most : x.m,
                                  threads == 1 ? x.m : divide_up(x.m, each * threads));
    const bool stream = streams(x, x.larger),
               own = plan.b_apart || (threads > 1 && x.m >= 16 * table.mr * threads);
    // An a that comes from memory, one run, is asked for 4 KiB ahead of itself.
    const int64_t a_bytes = x.m * x.k * int64_t(sizeof(T)),
                  ahead = x.a.col == 1 && x.a.row == x.k && streams(4 * a_bytes)
                              ? 4096 / int64_t(sizeof(T))
                              : 0;
    const int64_t pieces = divide_up(x.m, rows);
    Scratch shared;
    auto* const taken = shared.take<std::atomic<uint8_t>>(pieces);
    std::uninitialized_fill_n(reinterpret_cast<uint8_t*>(taken), pieces, uint8_t{0});
    parallel_for(threads, 1, [&](int64_t thread, int64_t end) {
        for (; thread < end; ++thread) {
            Scratch scratch;
            Product<T> all = x;
            for (int64_t turn = 0; turn < pieces; ++turn) {
                // Its own part first, the same in every product, for what its caches may still hold.
                const int64_t piece = (thread * pieces / threads + turn) % pieces;
                if (taken[piece].exchange(1, std::memory_order_relaxed)) continue;
                poll_cancelled();
                if (own && all.b.data == x.b.data) {
                    const int64_t width = round_up(x.n, line<T>), row = width + line<T>;
                    T* const to = scratch.take<T>(x.k * row);
                    for (int64_t p = 0; p < x.k; ++p)
                        std::fill(std::copy_n(x.b.data + p * x.b.row, x.n, to + p * row),
                                  to + p * row + width, T(0));
                    all.b = {to, row, 1};
                    all.spare = line<T>;
                }
                const Product<T> y =
                    part(all, piece * rows, std::min(rows, x.m - piece * rows), 0, x.n);
                multiply_in_place(table, y.m, y.n, y.k, y.a, y.b, y.c, y.accumulate, y.spare,
                                  stream, pieces == 1 ? next : nullptr, ahead);
                finish(y);
            }
        }
    });
}

/// c (+)= a·b by up to `threads` threads. next: as in GemmSmall.
template <class T>
void multiply_product(const GemmTable<T>& table, const Product<T>& x, int64_t threads,
                      const T* const* next = nullptr) {
    if (x.k == 0) {
        for (int64_t i = 0; !x.accumulate && i < x.m; ++i)
            std::fill_n(x.c.data + i * x.c.row, x.n, T(0));
        return finish(x);
    }
    if (x.order == Order::lanes) return multiply_in_lanes(table, x, threads);
    if (x.order == Order::strands)
        return table.multiply_strands(x.n, x.k, x.a.data, x.a.col, x.b.data, x.b.row, x.c.data,
                                      x.accumulate),
               finish(x);
    if (threads == 1 && is_small<T>(table, x.m, x.n, x.k, x.a, x.b, x.c)) {
        multiply_small(table, x.m, x.n, x.k, x.a, x.b, x.c, x.accumulate, x.spare, next);
        return finish(x);
    }
    const bool few = (x.m <= 2 || (x.m <= 16 && is_far<T>(table, x.n, x.k) &&
                                   in_place(table, x.n, x.b, x.spare))) &&
                     x.b.col == 1;
    if (few && threads == 1 && in_place(table, x.n, x.b, x.spare) &&
        (x.a.col == 1 || x.a.row == 1) && x.n * x.k * int64_t(sizeof(T)) <= caches().l2 / 2) {
        multiply_in_place(table, x.m, x.n, x.k, x.a, x.b, x.c, x.accumulate, x.spare);
        return finish(x);
    }
    if (few) return multiply_few(table, x, threads);
    const Plan plan = plan_for(table, x, threads);
    if (plan.a_direct && plan.packed_from == x.n && x.k <= plan.kc &&
        (threads == 1 || is_near<T>(x.n, x.k)))
        return multiply_pieces(table, x, plan, threads, next);
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
                if (p + k_part < x.k) y.after = nullptr;
                if (k_part < x.k) y.large = false;
                multiply_product(table, y, threads);
            }
        return;
    }
    Shared<T> shared{table, x, plan, threads};
    Scratch scratch;
    if (!plan.by_columns && !plan.b_own && plan.packed_from < x.n) {
        const int64_t states = shared.panels() * divide_up(x.k, plan.kc);
        shared.packed = scratch.take<T>(shared.width() * x.k);
        shared.state = scratch.take<std::atomic<uint8_t>>(states);
        std::uninitialized_fill_n(reinterpret_cast<uint8_t*>(shared.state), states, uint8_t{0});
    }
    const int64_t grains = divide_up(plan.by_columns ? x.n : x.m, plan.grain);
    shared.parts = scratch.take<std::atomic<uint64_t>>(8 * threads);
    for (int64_t i = 0; i < threads; ++i)
        new (&shared.part(i)) std::atomic<uint64_t>(uint64_t(grains * i / threads) << 32 |
                                                    uint64_t(grains * (i + 1) / threads));
    parallel_each(threads, 1, [&](int64_t i) { Member<T>(shared, i).run(); });
}

/// The same by whom the environment says, where c's columns may lie apart.
template <class T>
void multiply_entry(const GemmTable<T>& table, const Product<T>& x, int64_t threads,
                    const T* const* next = nullptr) {
    const auto multiply = [&](const Product<T>& y) {
        if (!gemm_by_openblas()) return multiply_product(table, y, threads, next);
        gemm_openblas<T>(y.m, y.n, y.k, y.a, y.b, y.c, y.accumulate);
        finish(y);
    };
    if (x.c.col == 1 || x.n == 1) return multiply(x);
    Product<T> y = x;
    beside(x.m, x.n, x.c, x.accumulate, [&](MatrixView<T> c) { y.c = c, multiply(y); });
}

/// c (+)= a·b if it is small and in one chain.
template <class T>
[[gnu::always_inline]] inline bool multiply_if_small(
    const GemmTable<T>& table, int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
    const MatrixView<const T>& b, const MatrixView<T>& c, bool accumulate, int64_t spare = 0) {
    const bool small = is_small<T>(table, m, n, k, a, b, c);
    if (small) multiply_small(table, m, n, k, a, b, c, accumulate, spare);
    return small;
}

}  // namespace

bool gemm_by_openblas() {
    static const bool chosen = [] {
        const char* text = std::getenv("MERCER_GEMM");
        if (!text || std::strcmp(text, "mercer") == 0) return false;
        if (std::strcmp(text, "openblas") == 0) return true;
        throw ValueError("matmul", "MERCER_GEMM must be mercer or openblas, got '", text, "'");
    }();
    return chosen;
}

template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
                  const int64_t* a_offset, const MatrixView<const T>& b, const int64_t* b_offset,
                  const MatrixView<T>& c, const int64_t* c_offset, bool accumulate,
                  const Epilogue<T>& after, Order order) {
    if (batch <= 0 || m <= 0 || n <= 0) return;
    const GemmTable<T>& table = gemm_kernels<T>();
    const int64_t bytes = batch * (m * n + m * k + k * n) * int64_t(sizeof(T));
    const bool may_stream = rows_may_stream<T>(table.nr);
    Product<T> all{m,
                   n,
                   k,
                   a,
                   b,
                   c,
                   accumulate,
                   after.any() ? &after : nullptr,
                   {after.bias, 0, after.bias_step},
                   order == Order::chain ? order : order_by_shape(m, n, k, a, b),
                   may_stream && streams(bytes),
                   may_stream && streams_between(bytes)};
    // The kernels want c's columns next to each other; and a few columns of b against many of aᵀ (as in the
    // gradient of a linear layer's weights) the other way round. Swapping a and b (cᵀ = bᵀaᵀ) keeps every
    // sum as it is. Sums in lanes want one operand along memory, and few columns of the other; those in strands one row.
    const bool tall =
        a.row == 1 && b.col == 1 && n <= 2 * table.nr && m > 2 * n && k > 4 * table.nr;
    const bool swap = all.order == Order::lanes               ? m == 1 && b.row == 1
                      : n == 1 || all.order == Order::strands ? m > 1
                                                              : (c.col > 1 ? c.col > c.row : tall);
    if (swap) {
        std::swap(all.m, all.n);
        std::swap(all.a, all.b);
        std::swap(a_offset, b_offset);
        for (auto* view : {&all.a, &all.b, &all.bias}) std::swap(view->row, view->col);
        std::swap(all.c.row, all.c.col);
    }
    // Behind all entries of b but the last there is another's memory.
    const int64_t b_last = b_offset ? *std::max_element(b_offset, b_offset + batch) : 0;
    const auto spare = [&](int64_t at) { return b_offset ? b_last - b_offset[at] : 0; };
    const auto of = [](auto view, const int64_t* offset, int64_t at) {
        view.data += offset ? offset[at] : 0;
        return view;
    };
    const auto entry = [&](int64_t at) {
        Product<T> x = all;
        x.spare = spare(at);
        x.a = of(x.a, a_offset, at), x.b = of(x.b, b_offset, at), x.c = of(x.c, c_offset, at);
        return x;
    };
    // Estimated time in ns, on the slow side of 50 flops (or 5 elements of c) per ns.
    const double lanes = double(table.lanes) / 16 * 50;
    const double item = double(m) * double(n) * (2.0 * double(k) / lanes + 0.2) + 100;
    constexpr double worth = 20000;  // what a thread should have to do
    const int64_t threads =
        item * double(batch) < 2 * worth || gemm_by_openblas()
            ? 1
            : std::clamp<int64_t>(int64_t(item * double(batch) / worth), 1, thread_count());
    // What is so small comes by itself, and is multiplied in less time than a product is described in. But a transposed b
    // from memory takes less if it is asked for.
    const bool brief = all.order == Order::chain && all.b.col == 1 && !after.any() &&
                       !gemm_by_openblas() && bytes <= batch * int64_t{8192};
    // What the entry to come reads of an operand, if that is one run and another than this one's.
    const bool far = bytes > caches().l2;
    const auto coming = [&](const MatrixView<const T>& x, int64_t rows, int64_t columns,
                            const int64_t* offset, int64_t at) -> const T* {
        if (!offset || at + 1 == batch || offset[at + 1] == offset[at]) return nullptr;
        const bool is_run = x.col == 1 ? x.row == columns : x.row == 1 && x.col == rows;
        return is_run ? x.data + offset[at + 1] : nullptr;
    };
    // Entries in parallel where there are enough of them, else each by all threads.
    if (threads == 1 || (batch >= threads && (batch >= 4 * threads || item < 2 * worth))) {
        const int64_t grain = threads == 1 ? batch : std::max<int64_t>(1, int64_t(worth / item));
        return parallel_for(batch, grain, [&](int64_t begin, int64_t end) {
            for (; begin < end; ++begin) {
                if (brief &&
                    multiply_if_small<T>(table, all.m, all.n, k, of(all.a, a_offset, begin),
                                         of(all.b, b_offset, begin), of(all.c, c_offset, begin),
                                         accumulate, spare(begin)))
                    continue;
                const T* const next[] = {coming(all.a, all.m, k, a_offset, begin),
                                         coming(all.b, k, all.n, b_offset, begin)};
                multiply_entry(table, entry(begin), 1, far ? next : nullptr);
            }
        });
    }
    for (int64_t at = 0; at < batch; ++at) multiply_entry(table, entry(at), threads);
}

namespace {

/// The same in any order.
template <class T>
[[gnu::always_inline]] inline bool multiply_if_narrow(
    const GemmTable<T>& table, int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
    const MatrixView<const T>& b, const MatrixView<T>& c, bool accumulate, Order order) {
    if (order != Order::chain) order = order_by_shape(m, n, k, a, b);
    if (order == Order::lanes) {
        if (a.col != 1 || b.row != 1 || std::min(m, n) != 1 || !is_near<T>(m * n, k)) return false;
        m == 1 ? table.multiply_lanes(n, 1, k, b.data, b.col, a.data, c.data, c.col, accumulate)
               : table.multiply_lanes(m, 1, k, a.data, a.row, b.data, c.data, c.row, accumulate);
        return true;
    }
    const auto done = [&](int64_t rows, int64_t columns, const MatrixView<const T>& l,
                          const MatrixView<const T>& r, const MatrixView<T>& to) {
        if (order != Order::strands)
            return multiply_if_small(table, rows, columns, k, l, r, to, accumulate);
        if (to.col != 1) return false;
        table.multiply_strands(columns, k, l.data, l.col, r.data, r.row, to.data, accumulate);
        return true;
    };
    const auto turned = [](const auto& x) { return MatrixView{x.data, x.col, x.row}; };
    // A column: cᵀ = bᵀaᵀ.
    return n == 1 && m > 1 ? done(1, m, turned(b), turned(a), turned(c)) : done(m, n, a, b, c);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const MatrixView<const T>& a,
          const MatrixView<const T>& b, const MatrixView<T>& c, bool accumulate,
          const Epilogue<T>& after, Order order) {
    // What is small: the way to it would take as long. Several rows by more than few columns are one chain by any order.
    if (!after.any() && !gemm_by_openblas()) {
        const GemmTable<T>& table = gemm_kernels<T>();
        const bool wide = m > 1 && n > few_columns;
        if (wide && is_plain(table, m, n, k, a, b, c))
            return multiply_plain(table, m, n, k, a, b, c, accumulate);
        if (wide ? multiply_if_small(table, m, n, k, a, b, c, accumulate)
                 : multiply_if_narrow(table, m, n, k, a, b, c, accumulate, order))
            return;
    }
    gemm_batched<T>(1, m, n, k, a, nullptr, b, nullptr, c, nullptr, accumulate, after, order);
}

MERCER_F32_F64(gemm)
MERCER_F32_F64(gemm_batched)

}  // namespace mercer::cpu
