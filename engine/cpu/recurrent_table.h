// Kernels of recurrent cells on one instruction set: one row (sequence) of one step, n units.
#pragma once

#include <cstdint>

namespace mercer::cpu {

template <class T>
struct RecurrentTable {
    /// memory: i, f, g, o before their biases, becomes the gates and c; h.
    void (*lstm)(int64_t n, const T* bias, const T* c_before, T* memory, T* h);
    /// dh in: what comes from later steps, without dy; out: 0. dc is taken back a step. `more`: the cotangent of memory.
    /// dy and more may be null.
    void (*lstm_back)(int64_t n, const T* memory, const T* c_before, const T* dy, const T* more,
                      T* dh, T* dc, T* dz);
    /// memory: r, z, n from x, becomes r, z, n and n's part from h; `from_h` is r, z, n from h; h.
    void (*gru)(int64_t n, const T* bias_x, const T* bias_h, const T* from_h, const T* h_before,
                T* memory, T* h);
    /// dh out: what goes to h_before directly. dx, dh_gates: of the gates' parts from x and from h.
    void (*gru_back)(int64_t n, const T* memory, const T* h_before, const T* dy, const T* more,
                     T* dh, T* dx, T* dh_gates);
};

}  // namespace mercer::cpu
