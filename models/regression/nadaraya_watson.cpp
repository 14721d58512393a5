#include "models/regression/nadaraya_watson.h"

namespace mercer {
namespace {

Tensor column(const std::vector<double>& values) {
    return Tensor::from(values, {int64_t(values.size()), 1});
}

}  // namespace

BandwidthChoice choose_bandwidth(const std::vector<double>& time,
                                 const std::vector<double>& value) {
    return choose_bandwidth(column(time), column(value));
}

std::vector<double> smooth(const std::vector<double>& time, const std::vector<double>& value,
                           double h, const std::vector<double>& queries) {
    return attend(column(queries), column(time), column(value), {.kernel = nadaraya_watson(h)})
        .value()
        .to_vector<double>();
}

}  // namespace mercer
