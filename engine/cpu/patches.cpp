#include "engine/cpu/patches.h"

namespace mercer::cpu {

Reach forward_reach(const ConvolutionAxis& a) {
    // One output has no neighbour, however far the next would be.
    Reach r{1, a.out, a.out > 1 ? a.stride : 1, {}};
    for (int64_t k = 0; k < a.kernel; ++k) r.offset.push_back(k * a.dilation - a.before);
    return r;
}

Reach joint_reach(std::span<const Reach* const> parts) {
    Reach all{1, 0, parts[0]->step, {}};
    for (const Reach* part : parts) {
        all.count = std::max(all.count, part->count);
        if (part->offset.empty()) continue;
        if (all.offset.empty()) all.offset = {part->low(), part->high()};
        all.offset = {std::min(all.offset[0], part->low()), std::max(all.offset[1], part->high())};
    }
    if (all.offset.empty()) all.offset = {0};
    return all;
}

Tiling::Tiling(const Reach& down, const Reach& across, const int64_t source[2], const Area& area)
    : down_(down), across_(across), source_(source) {
    top_ = area.begin[0] * down.step + down.low();
    left_ = area.begin[1] * across.step + across.low();
    height_ = (area.rows() - 1) * down.step + down.high() - down.low() + 1;
    const int64_t width = (area.columns() - 1) * across.step + across.high() - across.low() + 1;
    part_ = (width + across.step - 1) / across.step;
    row_ = part_ * across.step;
    rows_ = area.rows(), columns_ = area.columns();
    begin_ = std::clamp<int64_t>(-left_, 0, row_);
    end_ = std::clamp<int64_t>(source[1] - left_, begin_, row_);
    whole_ = std::min(end_, (begin_ + across.step - 1) / across.step * across.step);
}

void Tiling::offsets(const Reach& down, const Reach& across, int64_t* to, int64_t more) const {
    for (int64_t k = 0; k < int64_t(down.offset.size()) + more; ++k)
        for (int64_t x : across.offset)
            *to++ = at(down.offset[0] + k * down.apart() - down_.low(), x - across_.low());
}

int64_t Tiling::runs(int64_t from, int64_t count, Run* to, int64_t apart) const {
    int64_t n = 0;
    for (int64_t r = from / columns_, c = from % columns_; count > 0; ++r, c = 0) {
        const int64_t length = std::min(count, columns_ - c);
        to[n++] = {r / rows_ * apart + r % rows_ * row_step() + c, length};
        count -= length;
    }
    return n;
}

template <class T>
void Tiling::fill_rows(const T* source, int64_t rows, T outside, T* to) const {
    const ConvolutionTable<T>& table = convolution_kernels<T>();
    const int64_t step = across_.step;
    if (step == 1)
        return table.pad(source + left_ + begin_, rows, end_ - begin_, source_[1], outside, begin_,
                         to, row_);
    const int64_t head = (begin_ + step - 1) / step, tail = end_ / step;
    for (; rows > 0; --rows, source += source_[1], to += row_) {
        for (int64_t q = 0; q < step; ++q) {
            std::fill_n(to + q * part_, head, outside);
            std::fill(to + q * part_ + tail, to + (q + 1) * part_, outside);
        }
        for (int64_t t = begin_; t < whole_; ++t)
            to[(t - (head - 1) * step) * part_ + head - 1] = source[left_ + t];
        table.split(source + left_ + whole_, step, end_ - whole_, part_, to + head);
    }
}

template <class T>
void Tiling::fill(const T* source, int64_t planes, T outside, T* tile) const {
    const int64_t first = std::clamp<int64_t>(-top_, 0, height_),
                  last = std::clamp<int64_t>(source_[0] - top_, first, height_);
    for (; planes > 0; --planes, source += source_[0] * source_[1], tile += plane()) {
        std::fill(tile, tile + first * row_, outside);
        fill_rows(source + (top_ + first) * source_[1], last - first, outside, tile + first * row_);
        std::fill(tile + last * row_, tile + plane(), outside);
    }
}
template void Tiling::fill<float>(const float*, int64_t, float, float*) const;
template void Tiling::fill<double>(const double*, int64_t, double, double*) const;

std::vector<Area> cut(const Reach& down, const Reach& across, const int64_t source[2],
                      int64_t planes, int64_t rows, int64_t wanted, int64_t most) {
    // Rows are cut; columns only where there is one row, so that an area is one run of outputs.
    const int axis = down.count > 1 ? 0 : 1;
    const int64_t n = axis == 0 ? down.count : across.count;
    int64_t parts = std::clamp<int64_t>(wanted, 1, n);
    const auto area = [&](int64_t i) {
        const int64_t panel =
            axis == 1 && n / parts >= 32 ? 32 : 1;  // the widest has so many columns
        Area a{{0, 0}, {down.count, across.count}};
        a.begin[axis] = i * n / parts / panel * panel;
        if (i + 1 < parts) a.end[axis] = (i + 1) * n / parts / panel * panel;
        return a;
    };
    const auto tile = [&] { return Tiling(down, across, source, area(parts - 1)).plane(); };
    const int64_t whole =
        Tiling(down, across, source, {{0, 0}, {down.count, across.count}}).plane();
    // Taps far apart reach over many rows, of which each tile has a copy.
    while (parts < n && ((planes * tile() > most && parts * tile() <= 3 * whole) ||
                         rows * area(parts - 1).count() > 4 * most))
        parts = std::min(n, parts + (parts + 3) / 4);
    std::vector<Area> areas;
    for (int64_t i = 0; i < parts; ++i) areas.push_back(area(i));
    return areas;
}

}  // namespace mercer::cpu
