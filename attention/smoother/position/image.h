// Positions on a grid of rows and columns (Tsai et al. 2019, section 2.2.1, image space
// F × H × W); cell (r, c) is token r·width + c. Either the sum f + h_r + w_c, or the product kernel
// k_F·k_H·k_W, each factor as in Eq. 9.
#pragma once

#include "attention/smoother/position/positioned.h"

namespace mercer {

/// h_r + w_c for every cell: rows [B…, height, D], columns [B…, width, D] to
/// [B…, height·width, D], to be added to features (absolute.h). ShapeError.
MERCER_API Var grid_encoding(const Var& rows, const Var& columns);

struct Grid {
    /// h·W_H: [height, D] or [H, height, D]; w·W_W: [width, D'] or [H, width, D'].
    Var rows = {}, columns = {};
};
/// The term log k_H·k_W = (⟨h_r, h_r'⟩ + ⟨w_c, w_c'⟩)/√d, d the width of q. Queries and keys are
/// the cells of the grid. Products are taken over rows and over columns, not over cells.
MERCER_API Positioned place(const Grid& scheme, const Var& q, const Var& k);

}  // namespace mercer
