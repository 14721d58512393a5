#include "models/data/series.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/error.h"
#include "models/data/builtin.h"

namespace mercer {
namespace {

// Months since year 0, −1 for what is no month.
int month_number(std::string_view text) {
    const auto number = [](std::string_view digits) {
        int value = -1;
        const auto [stop, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        const bool whole = error == std::errc{} && stop == digits.data() + digits.size();
        return whole && digits[0] != '-' ? value : -1;
    };
    if (text.size() != 7 || text[4] != '-') return -1;
    const int year = number(text.substr(0, 4)), month = number(text.substr(5));
    return year < 0 || month < 1 || month > 12 ? -1 : 12 * year + month - 1;
}

}  // namespace

MonthlySeries read_monthly(const Csv& csv) {
    const size_t month = csv.column("month"), value = csv.column("value");
    MonthlySeries series;
    int last = -1;
    for (size_t row = 0; row < csv.rows(); ++row) {
        const int number = month_number(csv.text(row, month));
        if (number < 0) csv.refuse(row, month, "a month like 1959-01");
        if (number <= last) csv.refuse(row, month, "a month after " + csv.text(row - 1, month));
        last = number;
        series.time.push_back((number + 0.5) / 12);
        const double size = std::abs(series.value.emplace_back(csv.number(row, value)));
        // Errors are squared and divided: both must stay among the doubles.
        if (size > 1e100 || (size < 1e-100 && size != 0))
            csv.refuse(row, value, "0 or a magnitude from 1e-100 to 1e100; choose another unit");
    }
    if (series.time.empty())
        throw FormatError("csv", csv.name(),
                          ": found no row below the header, expected one for each month");
    return series;
}

MonthlySeries co2_series() {
    MonthlySeries series =
        read_monthly(Csv::parse(builtin::co2_mauna_loa(), "data/co2_mauna_loa.csv"));
    series.id = "co2";
    series.name = "CO₂ at Mauna Loa";
    series.unit = "ppm";
    series.provenance =
        "Monthly mean atmospheric CO₂, 1959–1997: Keeling and Whorf, Scripps Institution of "
        "Oceanography "
        "(R package datasets, object co2).";
    return series;
}

MonthlySeries airline_series() {
    MonthlySeries series =
        read_monthly(Csv::parse(builtin::airline_passengers(), "data/airline_passengers.csv"));
    series.id = "airline";
    series.name = "Airline passengers";
    series.unit = "thousands";
    series.provenance =
        "Monthly totals of international airline passengers, 1949–1960: Box, Jenkins and Reinsel, "
        "1976, "
        "series G (R package datasets, object AirPassengers).";
    return series;
}

Split random_split(int64_t n, Key key) {
    if (n < 10)
        throw ValueError("random_split", n, " points cannot be split 80/10/10; give 10 or more");
    const auto order = permutation(key, n).to_vector<int64_t>();
    const auto train = std::lround(0.8 * double(n)), validation = std::lround(0.1 * double(n));
    const auto part = [&](int64_t first, int64_t last) {
        std::vector<int64_t> indices(order.begin() + first, order.begin() + last);
        std::ranges::sort(indices);
        return indices;
    };
    return {part(0, train), part(train, train + validation), part(train + validation, n)};
}

std::vector<double> pick(const std::vector<double>& values, const std::vector<int64_t>& indices) {
    std::vector<double> out;
    for (const int64_t i : indices) out.push_back(values[size_t(i)]);
    return out;
}

}  // namespace mercer
