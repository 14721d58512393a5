#include "engine/cpu/patches.h"

#include <algorithm>
#include <cstring>

namespace mercer::cpu {

Reach forward_reach(const ConvolutionAxis& a) {
    Reach r{0, 1, a.out, a.stride, {}, {}};
    for (int64_t k = 0; k < a.kernel; ++k)
        r.tap.push_back(k), r.offset.push_back(k * a.dilation - a.before);
    return r;
}

Tiling::Tiling(const Reach& down, const Reach& across, const int64_t source[2], const Area& area)
    : down_(down), across_(across), source_(source) {
    top_ = area.begin[0] * down.step + down.low();
    left_ = area.begin[1] * across.step + across.low();
    height_ = (area.rows() - 1) * down.step + down.high() - down.low() + 1;
    const int64_t width = (area.columns() - 1) * across.step + across.high() - across.low() + 1;
    part_ = (width + across.step - 1) / across.step;
    row_ = part_ * across.step;
    columns_ = area.columns();
}

void Tiling::offsets(int64_t* to) const {
    for (int64_t y : down_.offset)
        for (int64_t x : across_.offset) {
            const int64_t c = x - across_.low();
            *to++ = (y - down_.low()) * row_ + c % across_.step * part_ + c / across_.step;
        }
}

int64_t Tiling::runs(int64_t from, int64_t count, Run* to) const {
    int64_t n = 0;
    for (int64_t r = from / columns_, c = from % columns_; count > 0; ++r, c = 0) {
        const int64_t length = std::min(count, columns_ - c);
        to[n++] = {r * row_step() + c, length};
        count -= length;
    }
    return n;
}

template <class T>
void Tiling::fill_row(const T* source, T outside, T* to) const {
    const int64_t step = across_.step;
    for (int64_t r = 0; r < step; ++r, to += part_) {
        // Elements i of this part are source[left_ + r + i·step]: those inside are [begin, end).
        const int64_t at = left_ + r;
        const int64_t begin = std::clamp<int64_t>((-at + step - 1) / step, 0, part_);
        const int64_t end = std::clamp<int64_t>((source_[1] - at + step - 1) / step, begin, part_);
        std::fill(to, to + begin, outside);
        if (step == 1)
            std::memcpy(to + begin, source + at + begin, size_t(end - begin) * sizeof(T));
        else
            convolution_kernels<T>().every(source + at + begin * step, step, end - begin,
                                           to + begin);
        std::fill(to + end, to + part_, outside);
    }
}

template <class T>
void Tiling::fill(const T* source, int64_t planes, T outside, T* tile) const {
    constexpr int64_t line = 64 / sizeof(T), soon = 32 * line;
    for (int64_t p = 0; p < planes; ++p, source += source_[0] * source_[1])
        for (int64_t r = 0; r < height_; ++r, tile += row_) {
            const int64_t y = top_ + r;
            if (y < 0 || y >= source_[0]) {
                std::fill(tile, tile + row_, outside);
                continue;
            }
            const T* const row = source + y * source_[1];
            // Rows are short, and little is done with them: the processor does not look ahead enough.
            for (int64_t c = 0; c < source_[1]; c += line) __builtin_prefetch(row + c + soon);
            fill_row(row, outside, tile);
        }
    std::fill(tile, tile + patch_slack, T(0));  // read, never used
}
template void Tiling::fill<float>(const float*, int64_t, float, float*) const;
template void Tiling::fill<double>(const double*, int64_t, double, double*) const;

std::vector<Area> cut(const Reach& down, const Reach& across, const int64_t source[2],
                      int64_t planes, int64_t wanted, int64_t most) {
    // Rows are cut; columns only where there is one row, so that an area is one run of outputs.
    const int axis = down.count > 1 ? 0 : 1;
    const int64_t n = axis == 0 ? down.count : across.count;
    int64_t parts = std::clamp<int64_t>(wanted, 1, n);
    const auto area = [&](int64_t i) {
        Area a{{0, 0}, {down.count, across.count}};
        a.begin[axis] = i * n / parts;
        a.end[axis] = (i + 1) * n / parts;
        return a;
    };
    while (parts < n && planes * Tiling(down, across, source, area(parts - 1)).plane() > most)
        parts = std::min(n, parts + (parts + 3) / 4);
    std::vector<Area> areas;
    for (int64_t i = 0; i < parts; ++i) areas.push_back(area(i));
    return areas;
}

}  // namespace mercer::cpu
