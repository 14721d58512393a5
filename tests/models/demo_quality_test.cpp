// What `mercer demo` must show (about a minute): on both series, in the mean of three seeds, each
// Transformer's test RMSE is at least 2.5 times better than the linear trend's, and better than
// those of the smoother in t and of the harmonic regression.
#include <doctest/doctest.h>

#include "models/tasks/comparison.h"

using namespace mercer;

namespace {

void check_quality(const MonthlySeries& series) {
    const Comparison c = compare_models(series, {.heads = usual_heads(series)});
    for (const ModelResult& m : c.models)
        MESSAGE(series.id, " ", m.id, ": ", m.test_mean(), " ± ", m.test_sd());
    for (const char* id : {"dot_product", "rbf"}) {
        const ModelResult& m = c.model(id);
        CAPTURE(id);
        CHECK(m.test_rmse.size() == 3);
        CHECK(m.test_mean() * 2.5 <= c.model("linear").test_mean());
        CHECK(m.test_mean() < c.model("smoother").test_mean());
        CHECK(m.test_mean() < c.model("harmonic").test_mean());
    }
}

}  // namespace

TEST_CASE("carbon dioxide at Mauna Loa") { check_quality(co2_series()); }

TEST_CASE("airline passengers") { check_quality(airline_series()); }
