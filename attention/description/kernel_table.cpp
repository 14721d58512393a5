// Kernels and normalisers by name.
#include "attention/description/row.h"

namespace mercer::description {

std::span<const Part<Kernel>> kernels() {
    static const Part<Kernel> rows[] = {
        row(
            "dot_product", "Dot product", "", "\\exp(\\langle q, k \\rangle / \\sqrt{d})",
            "Vaswani et al. 2017; Tsai et al. 2019, Eq. 3", +[] { return dot_product(); }),
        row(
            "luong_dot", "Dot product with a scale", "scale=1", "\\exp(s \\langle q, k \\rangle)",
            "Luong et al. 2015, Eq. 8", +[](double scale) { return dot_product(scale); }),
        row(
            "linear", "Linear", "", "\\langle q, k \\rangle", "Tsai et al. 2019, table 2",
            +[] { return linear(); }),
        row(
            "polynomial", "Polynomial", "degree=2 in [1,inf), offset=0, scale=1",
            "(s \\langle q, k \\rangle + c)^n", "Tsai et al. 2019, table 2",
            +[](int degree, double offset, double scale) {
                return polynomial(degree, offset, scale);
            }),
        row(
            "rbf", "Radial basis function", "", "\\exp(-\\|q - k\\|^2 / \\sqrt{d})",
            "Tsai et al. 2019, section 2.2.2", +[] { return rbf(); }),
        row(
            "rbf_similarity", "The dot product's similarity", "",
            "\\exp(-\\|q - k\\|^2 / (2 \\sqrt{d}))", "Song et al. 2021, Proposition 1",
            +[] { return rbf_similarity(); }),
        row(
            "expsin", "Periodic, with magnitude", "period=1 in [1e-15,inf)",
            "\\exp(-\\frac{2}{\\sqrt{d}} \\sin^2 \\frac{\\pi \\|q - k\\|}{p} + "
            "\\frac{\\|q\\|^2 + \\|k\\|^2}{2 \\sqrt{d}})",
            "Song et al. 2021, section 5", +[](double period) { return expsin(period); }),
        row(
            "cosine", "Cosine", "temperature?",
            "\\exp(t \\langle q, k \\rangle / (\\|q\\| \\|k\\|))",
            "Graves et al. 2014, Eq. 5 and 6",
            +[](const Var& t) { return t.defined() ? cosine(t) : cosine(); }),
        row(
            "additive", "Additive", "w", "\\exp(\\sum_h w_h \\tanh(q_h + k_h))",
            "Bahdanau et al. 2015, A.1.2; Luong et al. 2015, concat",
            +[](const Var& w) { return additive(w); }),
        row(
            "nadaraya_watson", "Nadaraya\xE2\x80\x93Watson", "bandwidth, profile=gaussian",
            "K(\\|q - k\\| / h)", "Nadaraya 1964; Watson 1964",
            +[](const Var& h, Profile profile) { return nadaraya_watson(profile, h); }),
    };
    return rows;
}

std::span<const Part<Normaliser>> normalisers() {
    static const Part<Normaliser> rows[] = {
        row(
            "automatic", "Softmax or division", "", "k_j / \\sum_i k_i",
            "Tsai et al. 2019, Definition 1", +[] { return Normaliser{}; }),
        row(
            "softmax", "Softmax", "", "e^{z_j} / \\sum_i e^{z_i}", "Vaswani et al. 2017",
            +[] { return softmax_weights(); }),
        row(
            "division", "Division by the sum", "", "w_j / \\sum_i w_i",
            "Tsai et al. 2019, Definition 1", +[] { return division(); }),
        row(
            "sparsemax", "Sparsemax", "", "[z_j - \\tau]_+", "Martins and Astudillo 2016, Eq. 2",
            +[] { return sparsemax_weights(); }),
        row(
            "entmax15", "Entmax 1.5", "", "[z_j / 2 - \\tau]_+^2", "Peters et al. 2019, Eq. 10",
            +[] { return entmax15_weights(); }),
        row(
            "entmax", "Entmax", "alpha", "[(\\alpha - 1) z_j - \\tau]_+^{1 / (\\alpha - 1)}",
            "Peters et al. 2019, Eq. 10", +[](const Var& alpha) { return entmax_weights(alpha); }),
    };
    return rows;
}

}  // namespace mercer::description
