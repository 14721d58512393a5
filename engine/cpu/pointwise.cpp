#include "engine/cpu/pointwise.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/caches.h"
#include "engine/cpu/copy.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer::cpu {
namespace {

/// nullptr of an absent tensor.
char* raw_of(const Tensor& t) { return t.defined() ? static_cast<char*>(t.raw()) : nullptr; }

// Rows no shorter than this, of elements as far apart or farther, are turned first.
bool lies_across(int64_t cols, int64_t stride) { return cols >= 16 && std::abs(stride) >= 16; }

// Few elements, in fewer rows than run_pointwise has other ways for: one call, without a plan. False if it is not so.
bool run_small(PointwiseFn kernel, int cost, const Shape& shape, std::span<const Tensor* const> in,
               std::span<const Strides> in_strides, std::span<Tensor> out, const void* state) {
    int64_t rows = 1, cols = 1;
    int64_t row_stride[Walk::max_operands], col_stride[Walk::max_operands];
    std::fill_n(row_stride, in.size(), 0);
    std::fill_n(col_stride, in.size(), 0);
    // The axis goes on where `n` elements, `stride` apart, end; or is the first one.
    const auto joins = [&](int axis, int64_t& n, int64_t* stride) {
        if (n == 1)
            for (size_t k = 0; k < in.size(); ++k) stride[k] = in_strides[k][axis];
        else
            for (size_t k = 0; k < in.size(); ++k)
                if (in_strides[k][axis] != stride[k] * n) return false;
        n *= shape[axis];
        return true;
    };
    for (int axis = shape.rank() - 1; axis >= 0; --axis)
        if (shape[axis] != 1 && (rows > 1 || !joins(axis, cols, col_stride)) &&
            !joins(axis, rows, row_stride))
            return false;
    if (rows >= 64 || rows > grain_for(cols * cost / 16)) return false;
    const void* inputs[Walk::max_operands];
    void* outputs[Walk::max_operands];
    for (size_t k = 0; k < in.size(); ++k) {
        if (lies_across(cols, col_stride[k])) return false;
        inputs[k] = raw_of(*in[k]);
    }
    for (size_t k = 0; k < out.size(); ++k) outputs[k] = raw_of(out[k]);
    kernel({rows, cols, inputs, row_stride, col_stride, outputs, cols, state, false});
    return true;
}

// Where operands lie across memory: the axis that is nearest in that of the first one; else the last.
int across_axis(const Walk& walk, std::span<const Tensor* const> in) {
    const int last = walk.shape.rank() - 1;
    int across = last;
    for (size_t k = 0; k < in.size() && across == last; ++k) {
        const auto apart = [&](int axis) { return std::abs(walk.strides[k][axis]); };
        for (int a = 0; a < last && lies_across(walk.cols(), apart(last)); ++a)
            if (walk.shape[a] >= 8 && apart(a) != 0 && apart(a) < apart(across)) across = a;
    }
    return across;
}

}  // namespace

void run_pointwise(PointwiseFn kernel, int cost, const Shape& shape,
                   std::span<const Tensor* const> in, std::span<const Strides> in_strides,
                   std::span<Tensor> out, const void* state) {
    constexpr int64_t piece = pointwise_piece;
    const int64_t elements = count(shape);
    if (elements == 0) return;
    const size_t operands = in.size();
    if (elements <= piece && run_small(kernel, cost, shape, in, in_strides, out, state)) return;
    // The outputs are dense and alike: one more operand stands for all of them.
    std::array<Strides, Walk::max_operands> strides;
    std::copy(in_strides.begin(), in_strides.end(), strides.begin());
    strides[operands] = contiguous_strides(shape);
    Walk walk = plan_walk(shape, std::span(strides.data(), operands + 1));

    const int64_t element = int64_t(size_of(in[0]->dtype()));
    const int last = walk.shape.rank() - 1;
    const int across = across_axis(walk, in);
    const bool turned = across != last;
    if (turned && across != last - 1) walk.exchange(across, last - 1);
    const int64_t cols = walk.cols(), side = last > 0 ? walk.shape[last - 1] : 1;
    std::array<int64_t, Walk::max_operands> row_stride, col_stride;
    for (size_t k = 0; k <= operands; ++k) {
        row_stride[k] = last > 0 ? walk.strides[k][last - 1] : 0;
        col_stride[k] = walk.strides[k][last];
    }

    const int64_t rows = walk.rows();
    int64_t traffic = 0, least = element;
    for (const Tensor* t : in) {
        if (!t->defined()) continue;
        const int64_t bytes = int64_t(size_of(t->dtype()));
        traffic += t->count() * bytes, least = std::min(least, bytes);
    }
    for (const Tensor& t : out) traffic += t.defined() ? elements * element : 0;
    // Rows too short for a kernel, or blocks of few of them: `along` the axis, as one long row.
    const bool rows_alone = cols * least < 64 && side >= 64;
    const int axis = last - (rows_alone ? 1 : 2);
    const int64_t size = rows_alone ? cols : side * cols, along = axis >= 0 ? walk.shape[axis] : 1;
    bool is_thin = !turned && (rows_alone || (size * element <= 1024 && along >= 8));
    for (size_t k = 0; k < operands; ++k) is_thin = is_thin && col_stride[k] <= 1;
    // Kernels of numbers and masks are slow in rows this short: operands are written out.
    if (least < element && cols < 64 && rows >= 64 && !is_thin) {
        std::array<Tensor, Walk::max_operands> whole;
        std::array<const Tensor*, Walk::max_operands> dense;
        for (size_t k = 0; k < operands; ++k) {
            const bool kept = !in[k]->defined() || in[k]->count() == 1;
            whole[k] =
                kept ? *in[k] : in[k]->view(shape, in_strides[k], in[k]->offset()).contiguous();
            dense[k] = &whole[k];
            strides[k] = kept ? in_strides[k] : contiguous_strides(shape);
        }
        return run_pointwise(kernel, cost, shape, std::span(dense.data(), operands),
                             std::span(strides.data(), operands), out, state);
    }
    const int64_t row_bytes = cols * element;
    bool stream = streams(traffic) &&
                  (rows == 1 || row_bytes % 64 == 0 ||
                   (is_thin && (rows * cols == along * size || along * size * element % 64 == 0)));
    for (const Tensor& t : out)
        stream = stream && reinterpret_cast<uintptr_t>(raw_of(t)) % 64 == 0 &&
                 std::ranges::find(in, raw_of(t), [](const Tensor* x) { return raw_of(*x); }) ==
                     in.end();
    // Arithmetic of some length keeps the processor from looking far ahead by itself; short formulas it would only hold up.
    const bool ahead = stream && cost > 2;
    const auto locate = [&](int64_t row, int64_t col, const void** inputs, void** outputs) {
        int64_t at[Walk::max_operands];
        walk.locate(row, at);
        const auto from = [](const Tensor& t, int64_t i) {
            return t.defined() ? raw_of(t) + i * int64_t(size_of(t.dtype())) : nullptr;
        };
        for (size_t k = 0; k < operands; ++k) inputs[k] = from(*in[k], at[k] + col * col_stride[k]);
        for (size_t k = 0; k < out.size(); ++k) outputs[k] = from(out[k], at[operands] + col);
    };
    const auto block = [&](int64_t row, int64_t rows, int64_t col, int64_t n) {
        const void* inputs[Walk::max_operands];
        void* outputs[Walk::max_operands];
        locate(row, col, inputs, outputs);
        kernel({rows, n, inputs, row_stride.data(), col_stride.data(), outputs,
                row_stride[operands], state, stream, ahead});
    };
    if (turned) {
        // Tiles, in which what lies across is turned first, several of its lines at once.
        const int64_t band = std::min<int64_t>(side, 512 / element),
                      tile = std::min<int64_t>(cols, 128), bands = (side + band - 1) / band,
                      tiles = (cols + tile - 1) / tile;
        return parallel_each(
            rows / side * bands * tiles, grain_for(band * tile * cost / 16), [&](int64_t item) {
                const int64_t col = item % tiles * tile, row = item / tiles % bands * band,
                              n = std::min(tile, cols - col), high = std::min(band, side - row);
                const void* inputs[Walk::max_operands];
                void* outputs[Walk::max_operands];
                locate(item / tiles / bands * side + row, col, inputs, outputs);
                auto in_row = row_stride, in_col = col_stride;
                bool is_run = row_stride[operands] == n;  // of all the tile's rows
                Scratch scratch;
                for (size_t k = 0; k < operands; ++k) {
                    if (inputs[k] && in_row[k] != 0 && std::abs(in_row[k]) < std::abs(in_col[k])) {
                        const int64_t bytes = int64_t(size_of(in[k]->dtype()));
                        char* const to = scratch.take<char>(high * tile * bytes);
                        copy_plane(bytes, to, inputs[k],
                                   {high, n, tile, 1, in_row[k], in_col[k], true, false});
                        inputs[k] = to, in_row[k] = tile, in_col[k] = 1;
                    }
                    is_run = is_run &&
                             (in_col[k] == 1 ? in_row[k] == n : in_col[k] == 0 && in_row[k] == 0);
                }
                kernel({is_run ? 1 : high, is_run ? high * n : n, inputs, in_row.data(),
                        in_col.data(), outputs, row_stride[operands], state, stream, ahead});
            });
    }
    if (is_thin) {
        // Whole lines' worth, so that long rows begin at lines; operands that repeat are written out.
        const int64_t most = std::max<int64_t>(16, 2048 / size / 16 * 16),
                      pieces = (along + most - 1) / most;
        return parallel_each(
            rows * cols / (size * along) * pieces, grain_for(most * size * cost / 16),
            [&](int64_t item) {
                const int64_t first = item / pieces * along + item % pieces * most,
                              n = std::min(most, along - item % pieces * most);
                const void* inputs[Walk::max_operands];
                void* outputs[Walk::max_operands];
                int64_t steps[Walk::max_operands];
                constexpr int64_t no_rows[Walk::max_operands] = {};
                locate(first * (size / cols), 0, inputs, outputs);
                Scratch scratch;
                for (size_t k = 0; k < operands; ++k) {
                    const int64_t step = walk.strides[k][axis], row = row_stride[k],
                                  col = col_stride[k], once = step == 0 ? 1 : n;
                    steps[k] = step != 0 || row != 0 || col != 0;
                    const bool dense = step == size && col == 1 && (rows_alone || row == cols);
                    if (!inputs[k] || !steps[k] || dense) continue;
                    const int64_t bytes = int64_t(size_of(in[k]->dtype()));
                    char* const to = scratch.take<char>(n * size * bytes);
                    copy_plane(bytes, to, inputs[k],
                               {rows_alone ? once : side, cols, cols, 1, row, col, false, false,
                                rows_alone ? 1 : once, size, step});
                    for (int64_t done = once; done < n; done *= 2)
                        std::memcpy(to + done * size * bytes, to,
                                    size_t(std::min(done, n - done) * size * bytes));
                    inputs[k] = to;
                }
                kernel({1, n * size, inputs, no_rows, steps, outputs, 0, state, stream, ahead});
            });
    }
    if (rows == 1 && cols <= piece) return block(0, 1, 0, cols);
    if (cols >= 2 * piece) {
        const int64_t pieces = (cols + piece - 1) / piece;
        parallel_each(rows * pieces, grain_for(piece * cost / 16), [&](int64_t item) {
            const int64_t col = item % pieces * piece;
            block(item / pieces, 1, col, std::min(piece, cols - col));
        });
    } else {
        parallel_for(rows, grain_for(cols * cost / 16), [&](int64_t begin, int64_t end) {
            while (begin < end) {  // as many rows at once as share the outer indices
                const int64_t n = std::min(end - begin, side - begin % side);
                block(begin, n, 0, cols);
                begin += n;
            }
        });
    }
}

}  // namespace mercer::cpu
