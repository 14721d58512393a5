// Direct weights of a tile's rows divided by their sum, and back.
#pragma once

#include "attention/smoother/fused/log_row.h"

namespace mercer::MERCER_ISA {
namespace {

/// What is there already, but for the columns that are not seen.
template <class T>
MERCER_APART void plain_gather(const LogTile<T>& t, T* parts, T* sizes) {
    for (int64_t r = 0; r < t.rows; ++r, parts += sum_lanes, sizes += sum_lanes) {
        const PlainRow<T, false> row(t, r);
        Canonical<T, SumOp> sum, size;
        canonical_run<T>(
            row.count(),
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& size_part) MERCER_STEP {
                const Vec<T> w = load(row.z + i, count, T(0));
                part = part + w;
                size_part = size_part + abs(w);
            },
            sum, size);
        row.clear_around(t.z + r * t.row, t.columns);
        add_parts(parts, T(1), sum);
        add_parts(sizes, T(1), size);
    }
}

template <class T>
void gather(const LogTile<T>& t, T* parts, T* sizes) {
    if (!t.seen && !t.column_terms && t.scale == T(1)) return plain_gather(t, parts, sizes);
    for (int64_t r = 0; r < t.rows; ++r, parts += sum_lanes, sizes += sum_lanes) {
        T* z = t.z + r * t.row;
        const LogRow<T> weights(t, r, T(0));
        Canonical<T, SumOp> sum, size;
        canonical_run<T>(
            t.columns,
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& size_part) MERCER_STEP {
                const Vec<T> w = weights(i, count);
                store(w, z + i, count);
                part = part + w;
                size_part = size_part + abs(w);
            },
            sum, size);
        add_parts(parts, T(1), sum);
        add_parts(sizes, T(1), size);
    }
}

/// Weights too faint for the reciprocal of their sum count as zero.
template <class T>
void finish_division(int64_t rows, const T* parts, const T* sizes, T* share, T* size) {
    for (int64_t r = 0; r < rows; ++r) {
        const T total = total_of(sizes + r * sum_lanes);
        const bool faint = __builtin_isinf(T(1) / total);
        size[r] = faint ? T(0) : total;
        share[r] = faint ? T(0) : T(1) / total_of(parts + r * sum_lanes);
    }
}

template <class T>
MERCER_APART void plain_undivide(const LogTile<T>& t, T* g, const T* share, const T* D) {
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        const PlainRow<T, false> row(t, r);
        const Vec<T> scale(share[r]), d(D[r]);
        T* const to = g + row.columns.first;
        write_run(row.z, row.count(), false, [&](int64_t i, int count) MERCER_STEP {
            store((load(to + i, count, T(0)) - d) * scale, to + i, count);
            return load(row.z + i, count, T(0)) * scale;
        });
        row.clear_around(t.z + r * t.row, t.columns);
        row.clear_around(g, t.columns);
    }
}

template <class T>
void undivide(const LogTile<T>& t, T* g, const T* share, const T* D) {
    if (!t.seen && !t.column_terms && t.scale == T(1) && !t.whole)
        return plain_undivide(t, g, share, D);
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        T* z = t.z + r * t.row;
        const LogRow<T> weights(t, r, T(0));
        const Vec<T> scale(share[r]);
        if (t.whole && share[r] != T(0) && share[r] == share[r]) {
            // A single key's share is exactly 1.
            Canonical<T, SumOp> sum;
            canonical_for(sum, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
                part = part + weights(i, count);
            });
            const Vec<T> total(sum.total());
            write_run(z, t.columns, false,
                      [&](int64_t i, int count) MERCER_STEP { return weights(i, count) / total; });
        } else {
            write_run(z, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
                return weights.shown(weights(i, count) * scale, i);
            });
        }
        const Vec<T> d(t.whole ? D[r] + weighted(t.columns, z, g) : D[r]);
        write_run(g, t.columns, false, [&](int64_t i, int count) MERCER_STEP {
            return weights.shown((load(g + i, count, T(0)) - d) * scale, i);
        });
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
