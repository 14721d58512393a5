#include "engine/cpu/optim.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::OptimTable, optim_table)

namespace cpu {
namespace {

constexpr int64_t piece = 1 << 14, grain = 2;  // pieces that one thread takes at least

/// Sets where each item begins when all stand in one row, each taking up size(item); returns its
/// length.
template <class Item, class Size>
int64_t line_up(std::span<Item> items, Size size) {
    int64_t at = 0;
    for (Item& item : items) {
        item.first = at;
        at += size(item);
    }
    return at;
}

/// The item that holds place `at` of the row.
template <class Item>
auto holder(std::span<Item> items, int64_t at) {
    return std::upper_bound(items.begin(), items.end(), at,
                            [](int64_t x, const Item& item) { return x < item.first; }) -
           1;
}

}  // namespace

void update(std::span<UpdateItem> items) {
    constexpr int64_t line = 16;  // no piece begins inside a cache line of f32
    const int64_t length =
        line_up(items, [](const UpdateItem& u) { return (u.n + line - 1) / line * line; });
    const OptimTable& table = optim_table();
    parallel_for((length + piece - 1) / piece, grain, [&](int64_t begin, int64_t end) {
        begin *= piece;
        end *= piece;
        for (auto u = holder(items, begin); u != items.end() && u->first < end; ++u) {
            const int64_t from = std::max<int64_t>(begin - u->first, 0),
                          to = std::min(end - u->first, u->n);
            if (from < to) table.update[int(u->rule)][u->wide](*u, from, to - from);
        }
    });
}

double dot(std::span<DotItem> items, double scale) {
    const int64_t pieces =
        line_up(items, [](const DotItem& d) { return (d.n + piece - 1) / piece; });
    Scratch scratch;
    double* part = scratch.take<double>(pieces);
    const OptimTable& table = optim_table();
    parallel_for(pieces, 2 * grain, [&](int64_t begin, int64_t end) {
        auto d = holder(items, begin);
        for (int64_t i = begin; i < end; ++i) {
            while (i - d->first >= (d->n + piece - 1) / piece) ++d;
            const int64_t from = (i - d->first) * piece, bytes = from * (d->wide ? 8 : 4);
            part[i] = table.dot[d->wide](static_cast<const char*>(d->a) + bytes,
                                         static_cast<const char*>(d->b) + bytes,
                                         std::min(piece, d->n - from), scale);
        }
    });
    double total = 0;
    for (int64_t i = 0; i < pieces; ++i) total += part[i];
    return total;
}

}  // namespace cpu
}  // namespace mercer
