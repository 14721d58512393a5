// A monthly series and how it is divided for an experiment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/export.h"
#include "engine/random.h"
#include "models/data/csv.h"

namespace mercer {

struct MonthlySeries {
    std::string id, name, unit, provenance;
    std::vector<double> time;  // decimal years, the middle of each month
    std::vector<double> value;

    int64_t size() const { return int64_t(time.size()); }
};

/// From columns `month` (1959-01) and `value`, months strictly ascending (gaps are allowed); values
/// are 0 or of a magnitude from 1e-100 to 1e100.
/// FormatError otherwise.
MERCER_API MonthlySeries read_monthly(const Csv& csv);

/// The series of data/README.md, from inside the library.
MERCER_API MonthlySeries co2_series();
MERCER_API MonthlySeries airline_series();

/// A partition of 0 … n − 1, each part ascending.
struct Split {
    std::vector<int64_t> train, validation, test;
};

/// 80 % to fit, 10 % to choose by, the rest to test once, at random. ValueError below 10 points.
MERCER_API Split random_split(int64_t n, Key key);

/// values[i] for i in `indices`.
MERCER_API std::vector<double> pick(const std::vector<double>& values,
                                    const std::vector<int64_t>& indices);

}  // namespace mercer
