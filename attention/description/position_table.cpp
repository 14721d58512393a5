// Position schemes by name.
#include "attention/description/row.h"

namespace mercer::description {
namespace {

using Offset = PositionOffset;

Position alibi_of(const Var& slopes, int64_t heads, Offset offset, bool causal) {
    if (slopes.defined() && heads != 1)
        throw ValueError("alibi", "slopes ", slopes.shape(), " and heads ", heads,
                         "; give one of them");
    return Alibi{slopes.defined() ? slopes : Var(alibi_slopes(heads)), offset, causal};
}
Position symmetric_of(const Var& encoding, const Var& weight, Offset offset) {
    return weight.defined() ? symmetric(encoding, weight, offset) : Symmetric{encoding, offset};
}

}  // namespace

std::span<const Part<Position>> positions() {
    static const Part<Position> rows[] = {
        row(
            "none", "None", "", "k(q_i, k_j)", "Tsai et al. 2019, section 2.2.3",
            +[]() -> Position { return NoPosition{}; }),
        row(
            "absolute", "Absolute", "queries, keys", "k(q_i + t_i, k_j + t_j)",
            "Tsai et al. 2019, Eq. 4; Vaswani et al. 2017, section 3.5",
            +[](const Var& queries, const Var& keys) -> Position {
                return Absolute{queries, keys};
            }),
        row(
            "transformer_xl", "Transformer-XL",
            "weight, u?, v?, scale_positions=true, clamp_length=0 in [0,inf), causal=false, "
            "layout=halves",
            "\\exp(((q_i + u) k_j + (q_i + v) W PE_{i - j}) / \\sqrt{d})",
            "Dai et al. 2019, section 3.3; Tsai et al. 2019, Eq. 5",
            +[](const Var& weight, const Var& u, const Var& v, bool scale_positions,
                int64_t clamp_length, bool causal, EncodingLayout layout) -> Position {
                return TransformerXl{weight, u, v, scale_positions, clamp_length, causal, layout};
            }),
        row(
            "lookup", "Relative table", "table, values?, reversed=false, scaled=true, offset=none",
            "k(q_i, k_j) \\exp(\\langle q_i, a_{j - i} \\rangle / \\sqrt{d})",
            "Shaw et al. 2018, Eq. 2 to 5; Tsai et al. 2019, Eq. 6",
            +[](const Var& table, const Var& values, bool reversed, bool scaled,
                Offset offset) -> Position {
                return Lookup{table, values, reversed, scaled, offset};
            }),
        row(
            "skew", "Skewed relative table, causal", "table, scaled=true, offset=none",
            "k(q_i, k_j) \\exp(\\langle q_i, e_{j - i} \\rangle / \\sqrt{d}), j \\le i",
            "Huang et al. 2018, section 3.4.1",
            +[](const Var& table, bool scaled, Offset offset) -> Position {
                return Skew{table, scaled, offset};
            }),
        row("symmetric", "Symmetric product kernel", "encoding, weight?, offset=none",
            "k(q_i, k_j) \\exp(\\langle t_i W, t_j W \\rangle / \\sqrt{d})",
            "Tsai et al. 2019, Eq. 9", +&symmetric_of),
        row(
            "grid", "Rows and columns of a grid", "rows, columns",
            "k(q_i, k_j) \\exp((\\langle h_i, h_j \\rangle + \\langle w_i, w_j \\rangle) / "
            "\\sqrt{d})",
            "Tsai et al. 2019, section 2.2.1",
            +[](const Var& rows, const Var& columns) -> Position {
                return Grid{rows, columns};
            }),
        row(
            "rotary", "Rotary",
            "layout=halves, base=10000 in (0,inf), width=0 in [0,inf), offset=none",
            "k(R_i q_i, R_j k_j)", "Su et al. 2021, Eq. 34",
            +[](PairLayout layout, double base, int64_t width, Offset offset) -> Position {
                return Rotary{layout, base, width, offset};
            }),
        row("alibi", "Linear biases", "slopes?, heads=1 in [1,inf), offset=none, causal=false",
            "k(q_i, k_j) \\exp(-m_h |i - j|)", "Press et al. 2022, section 3", +&alibi_of),
    };
    return rows;
}

}  // namespace mercer::description
