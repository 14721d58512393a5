// C = A·B in blocks that follow the caches, on the kernels of kernels/gemm_kernels.cpp.
//
// C is cut into rectangles, one or a few per thread; each is computed on its own. For every kc
// steps of k, strips of A (mc×kc, packed, in L2) meet panels of B (kc×nr, packed one at a time into
// L1). Memory traffic per rectangle: A once, B once per mc rows, C in and out once per kc steps; a
// packed strip is read from L2 once per panel. Operands that are small, or met by too few rows or
// columns to repay it, are not packed but used where they are.
#include "engine/cpu/gemm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

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

// --- cache sizes
// ---------------------------------------------------------------------------------------------------

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

// --- one rectangle of C on one thread
// --------------------------------------------------------------------------------

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
/// Cuts n into equal blocks of at most `most`, multiples of `unit`.
int64_t block_size(int64_t n, int64_t most, int64_t unit) {
    most = std::max(unit, most / unit * unit);
    const int64_t blocks = (n + most - 1) / most;
    return std::min(most, round_up((n + blocks - 1) / blocks, unit));
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

template <class T>
void clear(const Product<T>& x) {
    for (int64_t i = 0; i < x.m; ++i)
        for (int64_t j = 0; j < x.n; ++j) x.c.data[i * x.c.row + j * x.c.col] = T(0);
}

template <class T>
void multiply_rectangle(const GemmTable<T>& table, const Product<T>& x) {
    if (x.k == 0) {
        if (!x.accumulate) clear(x);
        return;
    }
    if (x.m == 1 && x.b.col == 1 && x.c.col == 1) {
        // Columns of c that stay in L1 while the rows of b go by.
        const int64_t nc = caches().l1 / 2 / int64_t(sizeof(T));
        for (int64_t j = 0; j < x.n; j += nc)
            table.multiply_row(std::min(nc, x.n - j), x.k, x.a.data, x.a.col, x.b.data + j, x.b.row,
                               x.c.data + j, x.accumulate);
        return;
    }
    constexpr int64_t size = sizeof(T);
    const int64_t l1 = caches().l1, l2 = caches().l2;
    const int64_t kc = block_size(x.k, l1 * 2 / 3 / (table.nr * size), 8);
    const int64_t mc = block_size(x.m, l2 / 2 / (kc * size), table.mr);
    const bool b_small = (x.b.row * (x.k - 1) + x.n) * size <= l1 / 2 && x.b.col == 1;
    const bool a_small = (x.a.col * (x.k - 1) + x.m) * size <= l1 / 2;
    const bool a_direct =
        x.a.col == 1 ? x.n <= 24 * table.mr && spreads(x.a.row * size, table.mr)
                     : x.a.row == 1 && (x.n <= table.nr || (a_small && x.n <= 4 * table.nr));

    GemmBlock<T> block{};
    block.n = x.n;
    block.a_packed = !a_direct;
    block.b_direct = x.b.col == 1 && (b_small || x.m <= 2 * table.mr);
    block.rows_outer = b_small && x.k <= kc;
    block.a_row = x.a.row;
    block.a_col = x.a.col;
    block.b_row = x.b.row;
    block.b_col = x.b.col;
    block.c_row = x.c.row;
    block.c_col = x.c.col;
    Scratch scratch;
    T* const strips = a_direct ? nullptr : scratch.take<T>(mc * kc + table.lanes);
    if (!block.b_direct || x.n % table.lanes != 0)
        block.panel = scratch.take<T>(kc * table.nr + table.lanes);
    for (int64_t p = 0; p < x.k; p += kc) {
        block.k = std::min(kc, x.k - p);
        block.b = x.b.data + p * x.b.row;
        block.accumulate = x.accumulate || p > 0;
        for (int64_t i = 0; i < x.m; i += mc) {
            poll_cancelled();
            block.m = std::min(mc, x.m - i);
            block.a = x.a.data + i * x.a.row + p * x.a.col;
            block.c = x.c.data + i * x.c.row;
            if (!a_direct) {
                table.pack_rows(block.m, block.k, block.a, x.a.row, x.a.col, strips);
                block.a = strips;
            }
            table.multiply(block);
        }
    }
}

// --- rectangles and threads
// ------------------------------------------------------------------------------------------

struct Grid {
    int64_t rows = 1, columns = 1;  // rectangles down and across
    int64_t height, width;
};

/// About `wanted` rectangles of least circumference, in whole tiles.
Grid cut(int64_t m, int64_t n, int64_t wanted, int mr, int nr) {
    Grid best{1, 1, m, n};
    int64_t least = INT64_MAX;
    for (int64_t rows = 1; rows <= wanted; ++rows) {
        const int64_t columns = (wanted + rows - 1) / rows;
        Grid g;
        g.height = std::min(m, round_up((m + rows - 1) / rows, mr));
        g.width = std::min(n, round_up((n + columns - 1) / columns, nr));
        g.rows = (m + g.height - 1) / g.height;
        g.columns = (n + g.width - 1) / g.width;
        // Unequal or missing rectangles leave threads idle: the largest one's share of the whole
        // counts most.
        const int64_t cost = (g.height * g.width) * 8 + (g.height + g.width) * 64;
        if (cost < least) {
            least = cost;
            best = g;
        }
    }
    return best;
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
    // Estimated time in ns, on the slow side of 50 flops (or 5 elements of c) per ns.
    const double lanes = double(table.lanes) / 16 * 50;
    const double item = double(m) * double(n) * (2.0 * double(k) / lanes + 0.2) + 100;
    const double total = item * double(batch);
    constexpr double worth = 20000,
                     enough =
                         2e6;  // a rectangle worth a thread; one large enough to balance the load
    int64_t wanted = 1;
    if (total >= 2 * worth) {
        const double threads = thread_count();
        const double each = std::clamp(total / threads / enough, 1.0, 4.0);
        wanted = threads == 1 ? 1 : int64_t(std::min(total / worth, threads * each));
    }
    const Grid grid = batch >= wanted ? Grid{1, 1, m, n}
                                      : cut(m, n, (wanted + batch - 1) / batch, table.mr, table.nr);
    const int64_t cells = grid.rows * grid.columns;
    const auto body = [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t entry = at / cells, i = at % cells / grid.columns * grid.height,
                          j = at % cells % grid.columns * grid.width;
            Product<T> x{
                std::min(grid.height, m - i), std::min(grid.width, n - j), k, a, b, c, accumulate};
            x.a.data += (a_offset ? a_offset[entry] : 0) + i * a.row;
            x.b.data += (b_offset ? b_offset[entry] : 0) + j * b.col;
            x.c.data += (c_offset ? c_offset[entry] : 0) + i * c.row + j * c.col;
            multiply_rectangle(table, x);
        }
    };
    const int64_t items = batch * cells;
    if (wanted == 1) return body(0, items);
    parallel_for(items, std::max<int64_t>(1, items / (wanted * 2)), body);
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
