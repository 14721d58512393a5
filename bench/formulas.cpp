// Formulas of mercer-bench, compiled for every instruction set.
#include "engine/map.h"

MERCER_MAP(bench_chain, 3,
           [](auto a, auto b, auto c) { return sigmoid(a) * tanh(b) + exp(-c * c); })
