// What decoding keeps of a layer's past: keys and values of all tokens so far, projected and split
// into heads. Values only: no gradient goes into it.
#pragma once

#include <utility>

#include "engine/tensor.h"

namespace mercer {

class MERCER_API KeyValueCache {
public:
    KeyValueCache() = default;
    KeyValueCache(const KeyValueCache&) = delete;  // both would write behind what they share
    KeyValueCache& operator=(const KeyValueCache&) = delete;

    int64_t length() const { return length_; }
    /// Writes k and v, [B, H, n, …], behind what is there, and gives all: views that later appends
    /// leave as they are, until truncate() frees their ends. Room grows by doubling, so that n tokens cost O(n) copies. ShapeError for
    /// another batch, heads or width; DTypeError.
    std::pair<Tensor, Tensor> append(const Tensor& k, const Tensor& v);
    /// Forgets what came after the first n tokens. ValueError unless 0 ≤ n ≤ length().
    void truncate(int64_t n);

    /// t·W_T of Eq. 9 for places from 0 on, as far as they were needed (PositionLayer::scheme).
    Tensor places;

private:
    Tensor keys_, values_;  // with room for more
    int64_t length_ = 0;
};

}  // namespace mercer
