// Filters by name.
#include "attention/description/row.h"
#include "attention/smoother/bandwidth.h"
#include "engine/error.h"

namespace mercer::description {
namespace {

// Pairs [n, 2] of blocks.
Filter blocks_of(int64_t rows, int64_t columns, const Tensor& seen) {
    if (seen.dtype() != DType::i64 || seen.rank() != 2 || seen.size(1) != 2)
        throw ShapeError("blocks", "the pairs of blocks are i64 [n, 2], not ", seen);
    const std::vector<int64_t> flat = seen.to_vector<int64_t>();
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (size_t i = 0; i < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
    return blocks(rows, columns, pairs);
}

// A mask [Tq, Tk], [B, Tq, Tk] or [B, H, Tq, Tk]; axes of size 1 are shared.
class Mask : public FilterRule {
public:
    explicit Mask(const Tensor& seen) : seen_(seen.contiguous()) {
        if (seen.dtype() != DType::boolean || seen.rank() < 2 || seen.rank() > 4)
            throw ShapeError("mask", "a mask is bool [Tq, Tk], [B, Tq, Tk] or [B, H, Tq, Tk], not ",
                             seen);
        queries_ = seen.size(-2), keys_ = seen.size(-1);
        if (seen.rank() > 2) batches_ = seen.size(0);
        if (seen.rank() > 3) heads_ = seen.size(1);
    }
    bool sees(const Seat& s) const override {
        const int64_t b = batches_ == 1 ? 0 : s.batch, h = heads_ == 1 ? 0 : s.head;
        return seen_.data<bool>()[((b * heads_ + h) * queries_ + s.query) * keys_ + s.key];
    }
    TileClass classify(const FilterTile&) const override { return TileClass::partial; }
    void check(const FilterExtent& of) const override {
        if (of.queries != queries_ || of.keys != keys_ ||
            (batches_ != 1 && batches_ != of.batches) || (heads_ != 1 && heads_ != of.heads))
            throw ShapeError("mask", "the mask ", seen_.shape(), " is not for scores ",
                             Shape{of.batches, of.heads, of.queries, of.keys});
    }
    bool by_batch() const override { return batches_ > 1; }
    bool by_head() const override { return heads_ > 1; }

private:
    Tensor seen_;
    int64_t batches_ = 1, heads_ = 1, queries_, keys_;
};
Filter mask_of(const Tensor& seen) { return Filter(std::make_shared<Mask>(seen)); }

}  // namespace

std::span<const Part<Filter>> filters() {
    static const Part<Filter> rows[] = {
        row(
            "full", "Everything", "", "\\text{all } j", "Tsai et al. 2019, section 2.2.4",
            +[] { return full(); }),
        row(
            "causal", "Causal", "offset=none", "j \\le i + o", "Tsai et al. 2019, section 2.2.4",
            +[](std::optional<int64_t> offset) { return offset ? causal(*offset) : causal(); }),
        row(
            "others", "All but oneself", "offset=0", "j \\ne i + o", "Nadaraya 1964, leave-one-out",
            +[](int64_t offset) { return others(offset); }),
        row(
            "window", "Sliding window", "w: in [1,inf), offset=0", "i + o - w < j \\le i + o",
            "Child et al. 2019, section 4.2",
            +[](int64_t w, int64_t offset) { return window(w, offset); }),
        row(
            "xl_memory", "Memory and causal", "memory:", "j \\le i + m",
            "Dai et al. 2019, section 3.2", +[](int64_t memory) { return xl_memory(memory); }),
        row(
            "same_length", "Same length for all", "memory:, length: in [1,inf)",
            "i + m - l < j \\le i + m", "Dai et al. 2019, evaluation",
            +[](int64_t memory, int64_t length) { return same_length(memory, length); }),
        row(
            "strided", "Sparse Transformer, strided", "l: in [1,inf)",
            "\\text{strided\\_local} \\cup \\text{strided\\_summary}",
            "Child et al. 2019, section 4.3", +[](int64_t l) { return strided(l); }),
        row(
            "strided_local", "Strided: the near keys", "l: in [1,inf)",
            "\\max(0, i - l) \\le j \\le i", "Child et al. 2019, section 4.3",
            +[](int64_t l) { return strided_local(l); }),
        row(
            "strided_summary", "Strided: every l-th key", "l: in [1,inf)",
            "j \\le i, (i - j) \\bmod l = 0", "Child et al. 2019, section 4.3",
            +[](int64_t l) { return strided_summary(l); }),
        row(
            "fixed", "Sparse Transformer, fixed",
            "l: in [1,inf), c: in [1,inf), sub_blocks=1 in [1,inf)",
            "\\text{fixed\\_local} \\cup \\text{fixed\\_summary}", "Child et al. 2019, section 4.3",
            +[](int64_t l, int64_t c, int64_t sub_blocks) { return fixed(l, c, sub_blocks); }),
        row(
            "fixed_local", "Fixed: the block", "l: in [1,inf)",
            "\\lfloor j / l \\rfloor = \\lfloor i / l \\rfloor, j \\le i",
            "Child et al. 2019, section 4.3", +[](int64_t l) { return fixed_local(l); }),
        row(
            "fixed_summary", "Fixed: summary columns",
            "l: in [1,inf), c: in [1,inf), sub_blocks=1 in [1,inf)",
            "j \\bmod l \\ge l - c, j \\le i", "Child et al. 2019, section 4.3",
            +[](int64_t l, int64_t c, int64_t sub_blocks) {
                return fixed_summary(l, c, sub_blocks);
            }),
        row(
            "padding", "Lengths with padding", "lengths", "j < n_b", "Vaswani et al. 2017",
            +[](const Tensor& lengths) { return padding(lengths); }),
        row(
            "packed", "Packed sequences", "offsets, key_offsets?", "s(i) = s(j)",
            "Dao et al. 2022, variable lengths",
            +[](const Tensor& offsets, const Tensor& key_offsets) {
                return key_offsets.defined() ? packed(offsets, key_offsets) : packed(offsets);
            }),
        row(
            "graph", "Neighbours in a graph", "row_offsets, columns", "j \\in N(i)",
            "Velickovic et al. 2018, section 2.1",
            +[](const Tensor& row_offsets, const Tensor& columns) {
                return graph(row_offsets, columns);
            }),
        row("blocks", "A list of blocks", "rows: in [1,inf), columns: in [1,inf), seen",
            "(\\lfloor i / r \\rfloor, \\lfloor j / c \\rfloor) \\in S",
            "Child et al. 2019, section 5.5", +&blocks_of),
        row("mask", "Any mask", "seen", "m_{ij}", "Tsai et al. 2019, Definition 1", +&mask_of),
    };
    return rows;
}

std::span<const Join> joins() {
    static const auto fold = [](const std::vector<Filter>& of, auto join) {
        Filter out = of.front();
        for (size_t i = 1; i < of.size(); ++i) out = join(out, of[i]);
        return out;
    };
    static const Join rows[] = {
        {"and", "Seen by all", "M_1 \\cap M_2", "Tsai et al. 2019, section 2.2.4",
         [](const std::vector<Filter>& of) {
             return fold(of, [](const Filter& a, const Filter& b) { return a & b; });
         }},
        {"or", "Seen by any", "M_1 \\cup M_2", "Child et al. 2019, section 4.3",
         [](const std::vector<Filter>& of) {
             return fold(of, [](const Filter& a, const Filter& b) { return a | b; });
         }},
        {"by_head", "Each head its own", "M_{h \\bmod n}", "Child et al. 2019, section 5.2",
         [](const std::vector<Filter>& of) { return by_head(of); }},
    };
    return rows;
}

}  // namespace mercer::description
