#include "attention/smoother/position/absolute.h"

#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

Var add_positions(const Var& f, const Var& t) {
    // Only whole ranks, lest a batch be taken for heads.
    bool fits = f.rank() >= 2 && t.defined() && (t.rank() == 2 || t.rank() == f.rank());
    for (int axis = 1; fits && axis <= t.rank(); ++axis)
        fits = t.size(-axis) == f.size(-axis) || (axis > 2 && t.size(-axis) == 1);
    if (!fits)
        throw ShapeError("add_positions", "positions ",
                         (t.defined() ? to_string(t.shape()) : "absent"), " do not fit features ",
                         f.shape(),
                         "; they need its last two sizes, and no other axes or all of them");
    const CalledAs called("add_positions");
    return f + t;
}

Var value_input(const Var& f, const Var& t, ValueInput which) {
    return which == ValueInput::features ? f : add_positions(f, t);
}

Positioned place(const Absolute& scheme, const Var& q, const Var& k) {
    return {add_positions(q, scheme.queries), add_positions(k, scheme.keys)};
}

}  // namespace mercer
