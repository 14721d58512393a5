// Kernels k(q, k) of a smoother. A kernel is a pointwise formula of a score s_ij of query i and key j,
// if it asks for them of the squared norms a_i = ‖q_i‖² and b_j = ‖k_j‖², and of parameters; it
// gives the log weight, or (where it may be zero or negative) the weight itself. The formula is a
// lambda; its derivatives are exact.
//
//   rbf()                        polynomial(2)                nadaraya_watson(Profile::triweight, h)
//   log_kernel([](auto s) { return s * 0.1; })                 direct_kernel([](auto s) { return s * s; })
#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "autograd/map.h"

namespace mercer {

/// A formula with its captures, on Vars.
class MERCER_API KernelFormula {
public:
    template <int inputs, class F>
    static KernelFormula of(const F& f) {
        static_assert(sizeof(F) <= sizeof(State), "a kernel's captures are at most four doubles");
        KernelFormula out;
        out.op_ = &detail::map_op<F, inputs>();
        std::memcpy(&out.state_, static_cast<const void*>(&f), sizeof f);
        return out;
    }
    /// score·s + norm·‖k‖².
    struct Affine {
        double score, norm;
    };
    /// A compiled one, whose last operands are `constants`.
    static KernelFormula of(const PointwiseOp& op, std::vector<double> constants = {},
                            std::optional<Affine> affine = {}) {
        KernelFormula out;
        out.op_ = &op;
        out.constants_ = std::move(constants);
        out.affine_ = affine;
        return out;
    }

    Var operator()(std::vector<Var> operands) const;
    const PointwiseOp& op() const { return *op_; }
    const void* state() const { return &state_; }
    const std::vector<double>& constants() const { return constants_; }
    /// If it is no more than that.
    const std::optional<Affine>& affine() const { return affine_; }

private:
    struct State {
        double at[4];
    };
    const PointwiseOp* op_ = nullptr;
    State state_{};
    std::vector<double> constants_;  // operands after all others
    std::optional<Affine> affine_;
};

struct Kernel {
    /// What s_ij is.
    enum class Score : uint8_t {
        product,  // ⟨q_i, k_j⟩
        difference,  // ‖q_i − k_j‖², by plain differences: exact where the expansion would cancel
        additive  // Σ_h w_h tanh(q_ih + k_jh), w the first of `parameters`
    };
    /// Operands of the formula after s and before the parameters.
    enum class Norms : uint8_t { none, key, both };

    const char* name = "kernel";
    std::function<KernelFormula(int64_t width)> formula{};  // for queries and keys of this width
    Score score = Score::product;
    Norms norms = Norms::none;
    bool direct = false;            // it gives k, not log k
    std::vector<Var> parameters{};  // of one element each, but additive's; may stand on a tape
    bool squared = false;  // the formula divides by the parameter's square, or compares with it
};

/// One's own: f(s, parameters…), or with norms f(s, b, …) or f(s, a, b, …); at most four operands.
template <Kernel::Norms norms = Kernel::Norms::none, class F, class... P>
Kernel log_kernel(F f, P... parameters) {
    constexpr int inputs = 1 + int(norms) + int(sizeof...(P));
    return {.name = "log_kernel",
            .formula = [f](int64_t) { return KernelFormula::of<inputs>(f); },
            .norms = norms,
            .parameters = {Var(parameters)...}};
}
template <Kernel::Norms norms = Kernel::Norms::none, class F, class... P>
Kernel direct_kernel(F f, P... parameters) {
    Kernel k = log_kernel<norms>(f, std::move(parameters)...);
    k.name = "direct_kernel";
    k.direct = true;
    return k;
}

// ---- of inner products (Tsai et al. 2019, section 2.2.2 and table 2; spec A.4) ------------------
/// exp(⟨q, k⟩/√d)  (Vaswani et al. 2017; Tsai Eq. 3)
MERCER_API Kernel dot_product();
/// exp(scale·⟨q, k⟩); with 1, Luong's dot score (Luong et al. 2015, Eq. 8)
MERCER_API Kernel dot_product(double scale);
/// ⟨q, k⟩: may be negative, which is reported (SmootherReport)
MERCER_API Kernel linear();
/// (scale·⟨q, k⟩ + offset)^degree
MERCER_API Kernel polynomial(int degree, double offset = 0, double scale = 1);
/// exp(−‖q − k‖²/√d), by ‖q‖² + ‖k‖² − 2⟨q, k⟩, whose first term cancels
MERCER_API Kernel rbf();
/// exp(−‖q − k‖²/(2√d)): the similarity of the dot product without its magnitude (Song et al. 2021,
/// Proposition 1; spec B.1)
MERCER_API Kernel rbf_similarity();
/// exp(−2 sin²(π‖q − k‖/period)/ℓ²) times the magnitude exp((‖q‖² + ‖k‖²)/(2√d)), ℓ² = √d  (spec
/// B.7); ValueError for a period below 1e-15
MERCER_API Kernel expsin(double period = 1);
/// exp(t·cos∠(q, k)), t a temperature, which may be learned; norms count as 1e-12 at least (spec D.7)
MERCER_API Kernel cosine(Var temperature);
inline Kernel cosine(double temperature = 1) {
    return cosine(Var(Tensor::scalar(temperature, DType::f64)));
}

// ---- with a score of their own -------------------------------------------------------------------
/// exp(Σ_h w_h tanh(q_ih + k_jh)); q and k are the projections, w: [d]  (Bahdanau et al. 2015, A.1.2).
/// Luong's concat score with W = [W_q W_k] is the same.
MERCER_API Kernel additive(Var w);

/// K(u), u = ‖q − k‖/h: the kernels of Nadaraya–Watson regression (Nadaraya 1964, Watson 1964; spec
/// D.1).
enum class Profile : uint8_t {
    gaussian,      // exp(−u²/2)
    boxcar,        // 1 for u ≤ 1
    triangular,    // [1 − u]₊
    epanechnikov,  // ¾[1 − u²]₊
    biweight,      // 15/16·[1 − u²]₊²
    triweight,     // 35/32·[1 − u²]₊³
    laplace,       // exp(−u)
    constant       // 1
};
/// The bandwidth h is one positive element and may stand on a tape, to be learned. ValueError from attend() if h² is
/// below the normal numbers of the dtype, for the profiles that have u².
MERCER_API Kernel nadaraya_watson(Profile profile, Var bandwidth);
inline Kernel nadaraya_watson(Var bandwidth) {
    return nadaraya_watson(Profile::gaussian, std::move(bandwidth));
}
inline Kernel nadaraya_watson(Profile profile, double bandwidth) {
    return nadaraya_watson(profile, Var(Tensor::scalar(bandwidth, DType::f64)));
}
inline Kernel nadaraya_watson(double bandwidth) {
    return nadaraya_watson(Profile::gaussian, bandwidth);
}

}  // namespace mercer
