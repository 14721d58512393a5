// A position scheme with the parameters that a layer owns (attention/smoother/position/). Tokens of
// a layer stand at 0, 1, …; where keys begin with a memory of m, its first stands at 0 and the first
// query at m.
#pragma once

#include "attention/smoother/position/position.h"
#include "engine/random.h"
#include "models/layers/parameters.h"

namespace mercer {

struct PositionOptions {
    enum class Scheme : uint8_t {
        none,
        sinusoidal,      // f + PE(t) (Tsai et al. 2019, Eq. 4)
        learned,         // f + a row of a table
        transformer_xl,  // W_R, u, v (Eq. 5; Dai et al. 2019)
        lookup,          // a table of clipped distances (Eq. 6; Shaw et al. 2018)
        skew,            // a table of all distances, causal (Huang et al. 2018)
        symmetric,       // k_F·k_T with W_T (Eq. 9)
        grid_sum,        // an image's cells: f + PE(row) + PE(column)
        grid,            // k_F·k_rows·k_columns, with a matrix for each
        rotary,
        alibi
    } scheme = Scheme::none;
    int64_t length = 512;      // rows of the tables of learned and skew
    int64_t clip = 16;         // of lookup
    bool values = false;       // lookup: a table for the values too
    bool biases = true;        // transformer_xl: u and v; Tsai has none
    bool scaled = true;        // 1/√d on the position part of Eq. 5 and 6; Tsai has none
    int64_t clamp_length = 0;  // transformer_xl
    int64_t columns = 1;       // of an image: cell (r, c) is token r·columns + c
    PairLayout pairs = PairLayout::halves;                // of rotary
    EncodingLayout layout = EncodingLayout::interleaved;  // of sinusoids
};

struct MERCER_API PositionLayer {
    PositionOptions options;
    int64_t width, heads;
    Tensor weight;         // W_R, W_T or that of rows: [H, D, d]
    Tensor column_weight;  // that of columns: [H, D, d]
    Tensor u, v;           // [H, d]
    Tensor table;          // learned [length, D]; lookup [H, 2·clip + 1, d]; skew [H, length, d]
    Tensor value_table;    // [H, 2·clip + 1, d]

    /// W's entries uniform on (−1/√D, 1/√D); tables and biases normal, 0.02.
    PositionLayer(int64_t width, int64_t heads, const PositionOptions& options, Key key);

    /// Whether tokens get encoding() added before they are projected.
    bool is_sum() const {
        return options.scheme == PositionOptions::Scheme::sinusoidal ||
               options.scheme == PositionOptions::Scheme::learned ||
               options.scheme == PositionOptions::Scheme::grid_sum;
    }
    /// t at places first … first + n − 1: [n, D], rows of the table if there is one, else sinusoids;
    /// of an image, its rows' and columns' together. ShapeError beyond the table, for tokens that do
    /// not fill an image's rows.
    Var encoding(const Binding& at, int64_t first, int64_t n, DType dtype) const;
    /// What the smoother is told, for queries that begin at place `offset` of the keys. What depends
    /// on places only (t·W_T) is taken from `kept`, where that is given, and kept there: for calls
    /// with the same parameters, as constants.
    Position scheme(const Binding& at, int64_t queries, int64_t keys, int64_t offset, DType dtype,
                    Tensor* kept = nullptr) const;
    void collect(Parameters& parameters, const std::string& prefix);

private:
    bool is_image() const;
    std::pair<int64_t, int64_t> image(int64_t first, int64_t n) const;  // rows and columns
};

}  // namespace mercer
