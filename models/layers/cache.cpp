#include "models/layers/cache.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/functions.h"

namespace mercer {
namespace {

constexpr const char* name = "key_value_cache";

// x behind the first `length` rows of `all`, which gets room where it has too little.
Tensor appended(Tensor& all, const Tensor& x, int64_t length) {
    const int64_t n = x.size(-2), needed = length + n;
    Shape room = x.shape();
    room[2] = std::max<int64_t>({needed, 2 * length, 16});
    if (!all.defined() || all.size(-2) < needed) {
        Tensor larger = Tensor::empty(room, x.dtype());
        if (length > 0) {
            Tensor begin = slice(larger, -2, 0, length);
            slice(all, -2, 0, length).copy_to(begin);
        }
        all = larger;
    }
    Tensor end = slice(all, -2, length, needed);
    x.copy_to(end);
    return slice(all, -2, 0, needed);
}

void check(const char* what, const Tensor& all, const Tensor& x, int64_t length) {
    bool fits = x.rank() == 4;
    for (const int axis : {0, 1, 3}) fits = fits && (length == 0 || x.size(axis) == all.size(axis));
    if (!fits)
        throw ShapeError(
            name, what, " ", x.shape(), " should be [B, H, n, d]",
            (length > 0 ? ", as those before: " + to_string(all.shape()) : std::string()));
    if (length > 0 && x.dtype() != all.dtype())
        throw DTypeError(name, what, " are ", name_of(x.dtype()), ", those before ",
                         name_of(all.dtype()));
}

}  // namespace

std::pair<Tensor, Tensor> KeyValueCache::append(const Tensor& k, const Tensor& v) {
    check("keys", keys_, k, length_);
    check("values", values_, v, length_);
    if (k.size(-2) != v.size(-2))
        throw ShapeError(name, "keys ", k.shape(), " and values ", v.shape(), " differ in length");
    if (length_ == 0) keys_ = values_ = Tensor();
    std::pair<Tensor, Tensor> all{appended(keys_, k, length_), appended(values_, v, length_)};
    length_ += k.size(-2);
    return all;
}

void KeyValueCache::truncate(int64_t n) {
    if (n < 0 || n > length_) throw ValueError(name, "cannot keep ", n, " of ", length_, " tokens");
    length_ = n;
}

}  // namespace mercer
