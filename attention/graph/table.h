// Kernels of graph attention over rows of CSR on one instruction set. x: (n, H, F), `width` = F; scores
// (n, H). The numbers of the edges of rows [begin, end) come one after the other, H for each.
#pragma once

#include <cstdint>

namespace mercer::attention {

/// Rows [begin, end): edge k of row i joins it to column[k], offsets[i] ≤ k < offsets[i + 1].
struct GraphRows {
    const int64_t *offsets, *column;
    int64_t begin, end, heads, width;
};

/// What scores give back to x_i: source_i·a_source + target_i·a_target.
template <class T>
struct GraphScores {
    const T *source, *target;      // (n, H)
    const T *a_source, *a_target;  // (H, F)
};

template <class T>
struct GraphTable {
    /// a[r] = Σ_f x[r, f]·left[r mod H, f], b[r] with right, of nodes [begin, end).
    void (*scores)(int64_t begin, int64_t end, int64_t heads, int64_t width, const T* x,
                   const T* left, const T* right, T* a, T* b);
    /// p = softmax over each row of LeakyReLU(source_j + target_i); max and share = 1/Σe^{e − max} of
    /// each row, or with `given` from them. q: room for as much as p.
    void (*weights)(const GraphRows& rows, const T* source, const T* target, T slope, bool given,
                    T* max, T* share, T* q, T* p);
    /// out_i = Σ_k w[k]·x[column[k]], an fma chain in ascending k that begins with `back`, or 0. Weights
    /// of edge k begin at w + order[k]·H; without order the rows' own come one after the other.
    void (*weighted_sum)(const GraphRows& rows, const GraphScores<T>* back, const int64_t* order,
                         const T* w, const T* x, T* out);
    /// d[k] = ⟨g_i, x[column[k]]⟩ for each head.
    void (*products)(const GraphRows& rows, const T* g, const T* x, T* d);
    /// du = ∂/∂u = c·p(d − Σ_row p·d), c the slope's branch at u = source_j + target_i; sums: Σ_row du.
    void (*unweigh)(const GraphRows& rows, const T* source, const T* target, T slope, const T* p,
                    const T* d, T* du, T* sums);
    /// sums_j = Σ_k d[order[k]].
    void (*sum_edges)(const GraphRows& rows, const int64_t* order, const T* d, T* sums);
    /// da = Σ_i d_i·x_i over nodes [begin, end), in ascending i; x_i is not looked at where d_i is 0.
    void (*sum_nodes)(int64_t begin, int64_t end, int64_t heads, int64_t width, const T* d,
                      const T* x, T* da);
};

}  // namespace mercer::attention
