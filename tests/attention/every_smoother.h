// Every kernel, filter and normaliser there is, such that any three of them are a smoother if it is
// legal: what smoother_product_test.cpp takes the product of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/smoother/reference.h"

namespace mercer::test {

/// What attend() takes, made of operands x and of parameters.
struct Attended {
    Var q, k;
    SmootherOptions options;
};

/// A kernel, with what stands before it (projections of queries and keys, a term of positions).
struct ProductKernel {
    std::string name;
    std::function<Attended(const Var& q, const Var& k, std::span<const Var> parameters)> make;
    std::vector<Tensor> parameters = {};
    bool direct = false;
    bool has_sign = false;   // κ > 1
    bool symmetric = false;  // queries are keys: of equal lengths only
};
/// For this width and up to so many queries and keys.
std::vector<ProductKernel> product_kernels(int64_t width, int64_t places);

struct ProductFilter {
    std::string name;
    Filter filter;
    int64_t queries, keys, batches = 1, heads = 1;  // at least
};
/// About t queries.
std::vector<ProductFilter> product_filters(int64_t t);

struct ProductNormaliser {
    std::string name;
    bool divides;
    std::function<Normaliser(std::span<const Var> parameters)> make;
    std::vector<Tensor> parameters = {};
};
/// For heads with so many queries.
std::vector<ProductNormaliser> product_normalisers(int64_t heads, int64_t queries);

inline bool legal(const ProductKernel& k, const ProductFilter& f, const ProductNormaliser& n) {
    return k.direct == n.divides && !(k.symmetric && f.queries != f.keys);
}

}  // namespace mercer::test
