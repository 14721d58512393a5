#include "attention/smoother/fused/head.h"

#include "engine/cpu/dispatch.h"

namespace mercer {
MERCER_DISPATCH(attention::FusedTable<float>, fused_f32)
MERCER_DISPATCH(attention::FusedTable<double>, fused_f64)
}  // namespace mercer

namespace mercer::attention {
namespace {

constexpr int max_operands = max_pointwise_inputs;

// Operands of the formula: where each is, and its strides over rows and columns.
template <class T>
struct Operands {
    const void* in[max_operands + 2];
    int64_t row[max_operands + 2], column[max_operands + 2];
    int count = 0;

    void add(const T* at, int64_t by_row, int64_t by_column) {
        in[count] = at, row[count] = by_row, column[count] = by_column;
        ++count;
    }
    Operands() = default;
    void add_all(const Problem<T>& p, const FormulaTile<T>& t) {
        add(t.scores, tile_keys, 1);
        if (p.reads_queries()) add(t.query_norms, 1, 0);
        if (p.reads_keys()) add(t.key_norms, 0, 1);
        for (const T& x : p.parameters) add(&x, 0, 0);
    }
};

}  // namespace

template <class T>
Problem<T>::Problem(const Tensor& tq, const Tensor& tk, const Tensor& tv, const SmootherOptions& o)
    : queries(tq.size(-2)),
      keys(tk.size(-2)),
      width(tq.size(-1)),
      values(tv.size(-1)),
      q(tq.data<T>()),
      k(tk.data<T>()),
      v(tv.data<T>()),
      options(&o),
      formula(o.kernel.formula(tq.size(-1))) {
    heads = 1;
    for (int a = 0; a < tq.rank() - 2; ++a) heads *= tq.size(a);
    head_axis = tq.rank() > 3 ? tq.size(1) : 1;
    for (const Var& x : o.kernel.parameters) parameters.push_back(x.value().item<T>());
    for (double c : formula.constants()) parameters.push_back(T(c));
}
template struct Problem<float>;
template struct Problem<double>;

template <class T>
void formula_forward(const Problem<T>& p, const FormulaTile<T>& t, T* z) {
    Operands<T> x;
    x.add_all(p, t);
    void* const out[] = {z};
    p.formula.op().kernels().forward[sizeof(T) == 8](
        {t.rows, t.columns, x.in, x.row, x.column, out, tile_keys, p.formula.state(), false});
}
template void formula_forward(const Problem<float>&, const FormulaTile<float>&, float*);
template void formula_forward(const Problem<double>&, const FormulaTile<double>&, double*);

template <class T>
void formula_backward(const Problem<T>& p, const FormulaTile<T>& t, const T* g, T* ds, T* da,
                      T* db) {
    Operands<T> x;
    x.add(g, tile_keys, 1);
    x.add_all(p, t);
    x.add(nullptr, 0, 0);  // z, which no formula of a map reads
    void* out[max_operands] = {};
    int n = 0;
    out[n++] = ds;
    if (p.reads_queries()) out[n++] = da;
    if (p.reads_keys()) out[n++] = db;
    p.formula.op().kernels().backward[sizeof(T) == 8](
        {t.rows, t.columns, x.in, x.row, x.column, out, tile_keys, p.formula.state(), false});
}
template void formula_backward(const Problem<float>&, const FormulaTile<float>&, const float*,
                               float*, float*, float*);
template void formula_backward(const Problem<double>&, const FormulaTile<double>&, const double*,
                               double*, double*, double*);

}  // namespace mercer::attention
