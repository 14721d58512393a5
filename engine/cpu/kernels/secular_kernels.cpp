// The secular equation f(λ) = 1/ρ + Σ_i z_i² / (d_i − λ) = 0, one root in each lane, and the vectors of its roots.
//
// Root j lies between d_j and d_{j+1}; f at the middle says which pole is nearer, and λ is sought as x = λ − that pole. With
// ψ the sum of the poles up to j, φ that of the others, and a = d_j − λ, b = d_{j+1} − λ, each is replaced by a constant and
// one pole with its value and slope (Li 1993, LAPACK working note 89, "the middle way"), which gives the next x:
//   c η² − A η + B = 0,  c = f − a ψ' − b φ',  A = (a + b) f − a b (ψ' + φ'),  B = a b f
// A step that leaves the bracket is replaced by its middle. A lane that is done keeps its x: lanes do not see one another.
// Every sum goes over i in ascending order.
#include "engine/cpu/kernels/eigen_lanes.h"
#include "engine/cpu/linalg_table.h"

namespace mercer::MERCER_ISA {
namespace {

/// A step that needs no other: √ε/2.
template <class T>
constexpr T enough = sizeof(T) == 4 ? T(0x1p-13) : T(0x1p-28);
/// Roots in a block. Poles before and after one are taken two by two, so that lanes, which differ, must not be seen.
constexpr int64_t together = 16;

template <class T>
constexpr T epsilon = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53);

/// The root (A − √(A² − 4 B c)) / 2c, without cancellation.
template <class T>
MERCER_INLINE Vec<T> lesser_root(Vec<T> c, Vec<T> a, Vec<T> b) {
    const Vec<T> zero(T(0)), inside = fma(a, a, Vec<T>(T(-4)) * b * c),
                             s = sqrt(select(inside > zero, inside, zero));
    return select(a <= zero, (a - s) / (c + c), (b + b) / (a + s));
}

/// Σ of z_i² / (d_i − λ) and of its derivative.
template <class T>
struct Poles {
    Vec<T> value{T(0)}, slope{T(0)};
    MERCER_INLINE void add_inverse(Vec<T> inverse, Vec<T> square) {
        const Vec<T> term = square * inverse;
        value = value + term;
        slope = fma(term, inverse, slope);
    }
    MERCER_INLINE void add(Vec<T> difference, Vec<T> square) {
        add_inverse(Vec<T>(T(1)) / difference, square);
    }
    /// Two poles with one division. Deflation keeps poles so far apart that the product does not vanish.
    MERCER_INLINE void add(Vec<T> one, Vec<T> one_square, Vec<T> two, Vec<T> two_square) {
        const Vec<T> inverse = Vec<T>(T(1)) / (one * two);
        add_inverse(inverse * two, one_square);
        add_inverse(inverse * one, two_square);
    }
};

template <class T>
struct Bracket {
    using Index = typename IntOf<T>::type;
    const T *d, *squares;
    int64_t block, k;  // its roots begin at this one
    Vec<Index> below;  // the pole below each lane's root

    MERCER_INLINE Mask<T> not_above(int64_t i) const {
        return (Vec<Index>(Index(i)) <= below).template as<T>();
    }
    /// ψ and φ at near + by.
    MERCER_INLINE void sums(Vec<T> near, Vec<T> by, Poles<T>& psi, Poles<T>& phi) const {
        const auto difference = [&](int64_t i) MERCER_STEP { return (Vec<T>(d[i]) - near) - by; };
        const auto run = [&](Poles<T>& sum, int64_t i, int64_t end) MERCER_STEP {
            for (; i + 2 <= end; i += 2)
                sum.add(difference(i), Vec<T>(squares[i]), difference(i + 1),
                        Vec<T>(squares[i + 1]));
            for (; i < end; ++i) sum.add(difference(i), Vec<T>(squares[i]));
        };
        run(psi, 0, block);
        int64_t i = block;
        for (; i < block + together && i < k; ++i) {
            Poles<T> low = psi, high = phi;
            low.add(difference(i), Vec<T>(squares[i]));
            high.add(difference(i), Vec<T>(squares[i]));
            const Mask<T> under = not_above(i);
            psi.value = select(under, low.value, psi.value);
            psi.slope = select(under, low.slope, psi.slope);
            phi.value = select(under, phi.value, high.value);
            phi.slope = select(under, phi.slope, high.slope);
        }
        run(phi, i, k);
    }
};

template <class T>
void roots(int64_t first, int64_t last, int64_t k, const T* d, const T* squares, T inverse_rho,
           T span, T* near_out, T* by_out) {
    using V = Vec<T>;
    using Index = typename IntOf<T>::type;
    constexpr int lanes = V::lanes;
    const V zero(T(0)), start(inverse_rho), one_half(T(0.5));
    for (int64_t j = first; j < last; j += lanes) {
        const int count = int(last - j < lanes ? last - j : lanes);
        Index places[lanes];
        for (int l = 0; l < lanes; ++l) places[l] = Index(j + (l < count ? l : 0));
        const int64_t block = j / together * together;
        const Bracket<T> poles{d, squares, block, k, Vec<Index>::load(places)};
        // Lanes beyond the last do what the first one does.
        const V low_pole = V::load(d + j, count, d[j]),
                high_pole = V::load(d + j + 1, count, d[j + 1]),
                low_square = V::load(squares + j, count, squares[j]),
                high_square = V::load(squares + j + 1, count, squares[j + 1]);
        const Mask<T> is_last = (Vec<Index>(Index(k - 1)) <= poles.below).template as<T>();
        const V gap = select(is_last, V(span), high_pole - low_pole), half = gap * one_half;

        // The middle: which pole is nearer, and a first x from the two poles with the others' sum there.
        V rest = start;
        const auto difference = [&](int64_t i) MERCER_STEP { return (V(d[i]) - low_pole) - half; };
        const auto run = [&](int64_t i, int64_t end) MERCER_STEP {
            for (; i + 2 <= end; i += 2) {
                const V one = difference(i), two = difference(i + 1);
                rest = rest + fma(V(squares[i]), two, V(squares[i + 1]) * one) / (one * two);
            }
            for (; i < end; ++i) rest = rest + V(squares[i]) / difference(i);
        };
        run(0, block);
        int64_t i = block;
        for (; i <= block + together && i < k; ++i) {
            const Mask<T> own = poles.not_above(i) && !poles.not_above(i + 1),
                          next = poles.not_above(i - 1) && !poles.not_above(i);
            rest = select(own || next, rest, rest + V(squares[i]) / difference(i));
        }
        run(i, k);
        const V middle = rest + (high_square - low_square) / half;
        const Mask<T> left = middle >= zero || is_last;
        const V near = select(left, low_pole, high_pole), to_low = select(left, zero, -gap),
                to_high = select(left, gap, zero);
        V low = select(left, select(middle >= zero, zero, half), -half),
          high = select(left, select(middle >= zero, half, gap), zero);
        const V both = low_square + high_square;
        const auto inside = [&](V x) MERCER_STEP {
            return select(x >= low && x <= high && x != zero, x, (low + high) * one_half);
        };
        V x = inside(select(left, lesser_root(rest, fma(rest, gap, both), low_square * gap),
                            lesser_root(rest, both - rest * gap, -(high_square * gap))));
        Mask<T> open = zero == zero;
        for (int step = 0; step < 100; ++step) {
            Poles<T> psi, phi;
            poles.sums(near, x, psi, phi);
            const V f = (start + psi.value) + phi.value, noise = (start - psi.value) + phi.value;
            low = select(open && f < zero, x, low);
            high = select(open && f > zero, x, high);
            open = open && abs(f) > V(T(2) * epsilon<T>) * noise;
            if (!any(open)) break;
            const V a = to_low - x, b = to_high - x, ab = a * b,
                    eta = lesser_root((f - a * psi.slope) - b * phi.slope,
                                      (a + b) * f - ab * (psi.slope + phi.slope), ab * f),
                    next = inside(x + eta);
            open = open && next != x;
            x = select(open, next, x);
            // The error left is the square of this step, both in units of the nearer pole's distance.
            open = open && abs(eta) > V(enough<T>) * minimum(abs(a), abs(b));
        }
        near.store(near_out + j, count);
        x.store(by_out + j, count);
    }
}

// |z_i|² = (λ_last − d_i) Π_{j<i} (λ_j − d_i) / (d_j − d_i) Π_{i≤j<last} (λ_j − d_i) / (d_{j+1} − d_i), a value of i in a lane.
template <class T>
void exact(int64_t first, int64_t last, int64_t k, const T* d, const T* z, const T* near,
           const T* by, T* out) {
    using V = Vec<T>;
    using Index = typename IntOf<T>::type;
    constexpr int lanes = V::lanes;
    for (int64_t i = first; i < last; i += lanes) {
        const int count = int(last - i < lanes ? last - i : lanes);
        Index places[lanes];
        for (int l = 0; l < lanes; ++l) places[l] = Index(i + (l < count ? l : 0));
        const Vec<Index> own = Vec<Index>::load(places);
        const V pole = V::load(d + i, count, d[i]);
        V product = (V(near[k - 1]) - pole) + V(by[k - 1]);
        const auto join = [&](int64_t j, V other) MERCER_STEP {
            product = product * (((V(near[j]) - pole) + V(by[j])) / (other - pole));
        };
        const auto run = [&](int64_t j, int64_t end, const T* others) MERCER_STEP {
            for (; j + 2 <= end; j += 2) {
                const V one = (V(near[j]) - pole) + V(by[j]),
                        two = (V(near[j + 1]) - pole) + V(by[j + 1]);
                product =
                    product * ((one * two) / ((V(others[j]) - pole) * (V(others[j + 1]) - pole)));
            }
            for (; j < end; ++j) join(j, V(others[j]));
        };
        const int64_t block = i / together * together;
        run(0, block < k - 1 ? block : k - 1, d);
        int64_t j = block;
        for (; j < block + together && j < k - 1; ++j)
            join(j, select((Vec<Index>(Index(j)) < own).template as<T>(), V(d[j]), V(d[j + 1])));
        run(j, k - 1, d + 1);
        copysign(sqrt(abs(product)), V::load(z + i, count, T(0))).store(out + i, count);
    }
}

template <class T>
void vectors(int64_t first, int64_t last, int64_t k, const T* d, const T* z, const T* near,
             const T* by, T* out, int64_t out_row) {
    using L = Line<T>;
    for (int64_t j = first; j < last; ++j) {
        T* row = out + (j - first) * out_row;
        const Vec<T> pole(near[j]), x(by[j]);
        L sum(T(0));
        for (int64_t i = 0; i < k; i += L::width) {
            const L at = L::load(d + i, k - i, T(0)), top = L::load(z + i, k - i, T(0));
            L v;
            for (int w = 0; w < L::registers; ++w)
                v.part[w] = top.part[w] / ((at.part[w] - pole) - x);
            v.store(row + i, k - i);
            if (k - i < L::width) v = L::load(row + i, k - i, T(0));
            sum.add(v, v);
        }
        const Vec<T> scale = Vec<T>(T(1)) / sqrt(Vec<T>(sum.total()));
        for (int64_t i = 0; i < k; i += L::width) {
            L v = L::load(row + i, k - i, T(0));
            for (int w = 0; w < L::registers; ++w) v.part[w] *= scale;
            v.store(row + i, k - i);
        }
    }
}

}  // namespace

extern const cpu::SecularKernels<float> secular_kernels_f32 = {roots, exact, vectors};
extern const cpu::SecularKernels<double> secular_kernels_f64 = {roots, exact, vectors};

}  // namespace mercer::MERCER_ISA
