// A user's formulas, compiled once per instruction set.
#include "engine/map.h"

MERCER_MAP(gated, 2, [](auto a, auto b) { return sigmoid(a) * tanh(b); })
MERCER_MAP(four, 4,
           [](auto a, auto b, auto c, auto d) { return a * b + exp(-c * c) / (1.0 + d * d); })
