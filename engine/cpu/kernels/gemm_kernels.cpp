// Blocks of a product: packing, and the walk over tiles. Packing reads its source once and writes it
// once; a block reads each operand once per strip or panel of the other.
#include "engine/cpu/gemm_table.h"
#include "engine/cpu/kernels/gemm_lanes_far.h"
#include "engine/cpu/kernels/gemm_row.h"
#include "engine/cpu/kernels/gemm_small.h"
#include "engine/cpu/kernels/gemm_strands.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::GemmBlock;

template <class T>
void pack_rows(int64_t m, int64_t k, const T* a, int64_t row, int64_t col, T* out) {
    for (int64_t i = 0; i < m;) {
        const int rows = cpu::strip_rows(tile_rows, m - i);
        pack_panel(rows, rows, k, a + i * row, row, col, out + i * k);
        i += rows;
    }
}

template <class T>
void pack_columns(int64_t n, int64_t k, const T* b, int64_t row, int64_t col, T* out) {
    for (int64_t j = 0; j < n; j += tile_columns<T>) {
        const int width = panel_vectors<T>(n - j) * lanes<T>;
        const int columns = n - j < width ? int(n - j) : width;
        pack_panel(columns, width, k, b + j * col, col, row, out + j * k);
    }
}

/// What one of the block's fetches asks for, tile after tile.
template <class T>
class Fetch {
public:
    void begin(const cpu::GemmAhead<T>& ahead) {
        ahead_ = &ahead, tile_ = ahead.done;
        if (tile_ >= ahead.tiles) return;
        phase_ = tile_ > 0 ? tile_ % ahead.phases : 0;
        major_ = ahead.from + (tile_ > 0 ? tile_ / ahead.phases * ahead.major : 0);
    }
    /// Of the next tile; `idle`: any memory that is near.
    void take(const T* idle, const T*& from, int64_t& step) {
        const bool some = tile_ >= 0 && tile_ < ahead_->tiles;
        from = some ? major_ + phase_ * ahead_->minor : idle;
        step = some ? ahead_->step : 0;
        ++tile_;
        if (some && ++phase_ == ahead_->phases) phase_ = 0, major_ += ahead_->major;
    }

private:
    const cpu::GemmAhead<T>* ahead_;
    int64_t tile_, phase_ = 0;
    const T* major_ = nullptr;
};

/// A block's tiles, one after the other. What does not change from tile to tile is found once: a tile of a
/// few dozen steps takes no longer than some hundred instructions.
template <class T>
class Tiles {
public:
    explicit Tiles(const GemmBlock<T>& block) : x_(block), copies_(block.copy.rows) {
        const bool interleaved = x_.a_packed || x_.a_row == 1;
        kinds_ = x_.a_packed && x_.b_packed ? micros<T, Packed>.of
                 : interleaved              ? micros<T, Interleaved>.of
                                            : micros<T, Rowwise>.of;
        tile_.k = x_.k;
        tile_.a_stride = interleaved ? x_.a_col : x_.a_row;
        tile_.accumulate = x_.accumulate;
        tile_.stream = x_.stream;
        for (int f = 0; f < 2; ++f) fetch_[f].begin(x_.ahead[f]);
    }
    /// The panel of b at column j is next.
    void panel(int64_t j) {
        vectors_ = panel_vectors<T>(x_.n - j);
        const int width = vectors_ * lanes<T>;
        tile_.b = x_.b_packed ? x_.b + j * (x_.b_depth ? x_.b_depth : x_.k) + x_.b_first * width
                              : x_.b + j;
        tile_.b_row = x_.b_packed ? width : x_.b_row;
        tile_.last = (x_.n - j < width ? int(x_.n - j) : width) - width + lanes<T>;
        tile_.b_ends = !x_.b_packed && tile_.last != lanes<T>;
        c_ = x_.c + j;
    }
    /// Rows i … times that panel; `next`: the tile of c that comes after.
    void run(int64_t i, int rows, const T* next) {
        T* const c = c_ + i * x_.c_row;
        tile_.a = x_.a + i * (x_.a_packed ? x_.k : x_.a_row);
        if (x_.a_packed) tile_.a_stride = rows;
        tile_.c = c;
        tile_.c_row = tile_.next_row = x_.c_row;
        tile_.next = next;
        for (int f = 0; f < 2; ++f) fetch_[f].take(c, tile_.ahead[f], tile_.ahead_step[f]);
        tile_.copies = copies_;
        if (copies_ > 0) copy();
        kinds_[rows - 1][vectors_ - 1](tile_);
    }
    /// Copies what tiles had no time for.
    void finish() {
        if (copies_ <= 0) return;
        const int64_t done = x_.copy.rows - copies_;
        constexpr int width = tile_columns<T>;
        if (x_.copy.panels > 1) return finish_rows(done);
        pack_panel(width, width, copies_, x_.copy.from + done * x_.copy.row, 1, x_.copy.row,
                   x_.copy.to + done * width);
    }

private:
    static constexpr int64_t rows_ahead = 2;  // of several panels

    void copy() {
        constexpr int64_t soon = 16;  // rows of one panel from being asked for to being copied
        const int64_t done = x_.copy.rows - copies_;
        const bool across = x_.copy.panels > 1;
        tile_.from = x_.copy.from + done * x_.copy.row;
        tile_.to = x_.copy.to + done * tile_columns<T>;
        tile_.to_step = across ? x_.copy.rows * tile_columns<T> : tile_columns<T>;
        tile_.ahead[0] = tile_.from + (across ? rows_ahead : soon) * x_.copy.row;
        tile_.ahead_step[0] = across ? tile_columns<T> : x_.copy.row;
        if (across) tile_.copies = x_.copy.panels;
        copies_ -= across ? 1 : x_.k / steps;
    }
    /// From row `done` on, across all panels.
    void finish_rows(int64_t done) {
        for (; done < x_.copy.rows; ++done) {
            const T* from = x_.copy.from + done * x_.copy.row;
            T* to = x_.copy.to + done * tile_columns<T>;
            for (int64_t q = 0; q < x_.copy.panels; ++q) {
                __builtin_prefetch(from + 2 * rows_ahead * x_.copy.row, 0, 2);
                MERCER_UNROLL for (int j = 0; j < tile_vectors; ++j)
                    Vec<T>::load(from + j * lanes<T>)
                        .store(to + j * lanes<T>);
                from += tile_columns<T>, to += x_.copy.rows * tile_columns<T>;
            }
        }
    }

    const GemmBlock<T>& x_;
    const Micro<T> (*kinds_)[tile_vectors];
    Tile<T> tile_{};
    Fetch<T> fetch_[2];
    T* c_ = nullptr;
    int vectors_ = 0;
    int64_t copies_;  // rows of the other panel still to copy
};

template <class T>
void multiply(const GemmBlock<T>& x) {
    constexpr int64_t width = tile_columns<T>;
    const int most =
        x.a_packed ? tile_rows : cpu::rows_in_place(tile_rows, x.a_row * int64_t(sizeof(T)));
    Tiles<T> tiles(x);
    const auto c = [&](int64_t i, int64_t j) { return x.c + i * x.c_row + j; };
    int rows;
    if (x.rows_outer)
        for (int64_t i = 0; i < x.m; i += rows) {
            rows = cpu::strip_rows(most, x.m - i);
            for (int64_t j = 0; j < x.n; j += width) {
                tiles.panel(j);
                tiles.run(i, rows, j + width < x.n ? c(i, j + width) : c(i + rows, 0));
            }
        }
    else
        for (int64_t j = 0; j < x.n; j += width) {
            tiles.panel(j);
            for (int64_t i = 0; i < x.m; i += rows) {
                rows = cpu::strip_rows(most, x.m - i);
                tiles.run(i, rows, i + rows < x.m ? c(i + rows, j) : c(0, j + width));
            }
        }
    tiles.finish();
    if (x.stream) stream_fence();
}

template <class T>
constexpr cpu::GemmTable<T> table = {
    tile_rows,
    tile_columns<T>,
    lanes<T>,
    steps,
    multiply<T>,
    multiply_small<T, false>,
    multiply_small<T, true>,
    multiply_rows<T>,
    multiply_strips<T>,
    multiply_lanes<T>,
    multiply_lanes_far<T>,
    pack_lanes<T>,
    pack_rows<T>,
    pack_columns<T>,
    multiply_strands<T>,
};

}  // namespace

extern const cpu::GemmTable<float> gemm_f32 = table<float>;
extern const cpu::GemmTable<double> gemm_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
