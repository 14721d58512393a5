// A tape as a picture: Graphviz' DOT language.  dot -Tsvg tape.dot > tape.svg
#pragma once

#include "autograd/tape.h"

namespace mercer {

/// One box for each operation, with the dtype and shape of its results and the bytes it keeps for
/// backward; an ellipse for each watched leaf that something reads; a dashed box for operands that
/// stand on no tape. Edges go from what was computed to where it was used.
MERCER_API std::string to_dot(const Tape& tape);

}  // namespace mercer
