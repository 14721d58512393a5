// How outputs reach into a source plane, and tiles of a source with their padding.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "engine/cpu/caches.h"
#include "engine/cpu/convolution.h"
#include "engine/cpu/convolution_table.h"
#include "engine/cpu/dispatch.h"
#include "engine/scratch.h"

namespace mercer {
MERCER_TYPED(cpu::ConvolutionTable, convolution_kernels)  // engine/cpu/convolution.cpp

namespace cpu {

/// Along one axis: outputs every so many apart, the t-th of `count` reads source[t·step + offset[k]] with its k-th tap.
struct Reach {
    int64_t every, count, step;
    std::vector<int64_t> offset;
    int64_t low() const { return offset.front() < offset.back() ? offset.front() : offset.back(); }
    int64_t high() const { return offset.front() < offset.back() ? offset.back() : offset.front(); }
    /// From a tap to the next one.
    int64_t apart() const { return offset.size() > 1 ? offset[1] - offset[0] : 0; }
    /// Of this axis down: PlaneWalk's.
    int64_t lag(const Reach& across) const {
        return apart() == step || apart() == -step ? int64_t(across.offset.size()) : 0;
    }
};

/// As far as any of them reaches, of one step, and as many outputs as the most has.
Reach joint_reach(std::span<const Reach* const> parts);

/// Of a convolution's outputs: all taps.
Reach forward_reach(const ConvolutionAxis& axis);

/// The outputs [begin, end) of both axes that one task computes.
struct Area {
    int64_t begin[2], end[2];
    int64_t rows() const { return end[0] - begin[0]; }
    int64_t columns() const { return end[1] - begin[1]; }
    int64_t count() const { return rows() * columns(); }
};

/// What an area reads, as a tile in scratch: each plane row by row, the columns of a row by their remainder modulo the
/// step, so that neighbouring outputs read neighbouring elements.
class Tiling {
public:
    Tiling(const Reach& down, const Reach& across, const int64_t source[2], const Area& area);

    int64_t plane() const { return height_ * row_; }
    /// From an output to the next one below.
    int64_t row_step() const { return row_ * down_.step; }
    /// Where the tile's row y has its column x.
    int64_t at(int64_t y, int64_t x) const {
        return y * row_ + x % across_.step * part_ + x / across_.step;
    }
    /// Of every tap within a plane, row-major over the taps.
    void offsets(int64_t* to) const { offsets(down_, across_, to); }
    /// Of the taps of others that reach no farther, and of `more` rows of taps beyond.
    void offsets(const Reach& down, const Reach& across, int64_t* to, int64_t more = 0) const;
    /// The source's plane at `next`, to be asked for while so many rows of outputs are computed. None where it is
    /// nullptr, or asking does not pay: for few planes, which L2 holds, and short ones, for which fill looks ahead enough.
    template <class T>
    Soon soon(const T* next, int64_t planes, int64_t rows) const {
        const int64_t bytes = source_[0] * source_[1] * int64_t(sizeof(T));
        const bool pays = next && bytes > 4096 && planes * bytes > caches().l2;
        return {reinterpret_cast<const char*>(next),
                pays && rows > 0 ? (bytes + rows - 1) / rows : 0};
    }
    /// The runs of outputs [from, from + count), row-major over the area, as samples of the first plane (of several images,
    /// so far apart); at most one for each row they touch. Returns their number.
    int64_t runs(int64_t from, int64_t count, Run* to, int64_t apart = 0) const;
    /// Room for `planes` planes, and zeros behind it.
    template <class T>
    T* take(Scratch& scratch, int64_t planes) const {
        T* const tile = scratch.take<T>(planes * plane() + patch_slack);
        std::fill_n(tile + planes * plane(), patch_slack, T(0));  // read, never used
        return tile;
    }
    /// Copies `planes` planes of the source, `outside` where there is none.
    template <class T>
    void fill(const T* source, int64_t planes, T outside, T* tile) const;

private:
    template <class T>
    void fill_rows(const T* source, int64_t rows, T outside, T* to) const;

    const Reach &down_, &across_;
    const int64_t* source_;
    int64_t top_, left_, height_, part_, row_, rows_, columns_;
    int64_t begin_, end_, whole_;  // of a row, what is inside the source; from here in whole steps
};

/// Areas of about equal size: at least `wanted`, and none whose tile exceeds `most` elements, or whose outputs in `rows`
/// rows four times as many, unless it is one row, or tiles would copy the source three times.
std::vector<Area> cut(const Reach& down, const Reach& across, const int64_t source[2],
                      int64_t planes, int64_t rows, int64_t wanted, int64_t most);

}  // namespace cpu
}  // namespace mercer
