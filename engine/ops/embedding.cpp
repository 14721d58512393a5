#include "engine/ops/embedding.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/rows.h"

namespace mercer {

Tensor Embedding::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor table = in[0].contiguous(), ids = in[1].contiguous();
    require_floating(name, table);
    if (table.rank() != 2)
        throw ShapeError(name, "the table must be (size, width), got " + to_string(table.shape()));
    if (ids.dtype() != DType::i64)
        throw DTypeError(
            name, "ids must be i64, got " + std::string(name_of(ids.dtype())) + "; use cast");
    const int64_t* id = ids.data<int64_t>();
    for (int64_t i = 0; i < ids.count(); ++i)
        if (id[i] < 0 || id[i] >= attrs.size)
            throw ValueError(name, "id " + std::to_string(id[i]) + " is outside [0, " +
                                       std::to_string(attrs.size) + ")");
    const int64_t width = table.shape()[1], bytes = width * int64_t(size_of(table.dtype()));
    Shape shape = ids.shape();
    shape.push_back(width);
    const Tensor out = Tensor::empty(shape, table.dtype());
    if (bytes > 0)
        for_rows(ids.count(), width, [&](int64_t first, int64_t rows) {
            for (int64_t r = first; r < first + rows; ++r)
                std::memcpy(at(out, r * width), at(table, id[r] * width), size_t(bytes));
        });
    return out;
}

Tensor Embedding::backward(const Attrs& attrs, const Tensor& from, const Tensor& gradient) {
    const OperationScope scope(name, {&from, &gradient});
    const Tensor ids = from.contiguous(), g = gradient.contiguous();
    const int64_t* id = ids.data<int64_t>();
    const int64_t width = g.shape().back();
    const Tensor out = Tensor::empty({attrs.size, width}, g.dtype());
    // Positions by id, ascending (a counting sort): those of row k lie in [begin[k], begin[k + 1]).
    std::vector<int64_t> begin(size_t(attrs.size) + 1, 0), place(size_t(ids.count()));
    for (int64_t i = 0; i < ids.count(); ++i) ++begin[size_t(id[i]) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t i = 0; i < ids.count(); ++i) place[size_t(next[size_t(id[i])]++)] = i;
    const int64_t share = ids.count() / std::max<int64_t>(attrs.size, 1) + 1;
    visit(g.dtype(), [&]<class T>(T) {
        for_rows(attrs.size, width * share, [&](int64_t first, int64_t rows) {
            for (int64_t k = first; k < first + rows; ++k) {
                T* to = static_cast<T*>(out.raw()) + k * width;
                std::fill_n(to, width, T(0));
                if (k == attrs.padding) continue;
                for (int64_t p = begin[size_t(k)]; p < begin[size_t(k) + 1]; ++p) {
                    const T* row = static_cast<const T*>(g.raw()) + place[size_t(p)] * width;
                    for (int64_t j = 0; j < width; ++j) to[j] += row[j];
                }
            }
        });
    });
    return out;
}

Tensor embedding(const Tensor& table, const Tensor& ids, int64_t padding) {
    const Tensor in[] = {table, ids};
    return compute<Embedding>({table.size(0), padding}, in);
}

}  // namespace mercer
