// Monthly series: the built-in ones, what the reader refuses, and the split.
#include "models/data/series.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "engine/error.h"

using namespace mercer;

namespace {

std::string refusal(const std::string& text) {
    try {
        (void)read_monthly(Csv::parse(text, "a.csv"));
    } catch (const FormatError& error) {
        return error.what();
    }
    return "accepted";
}

void check_contains(const std::string& text, const std::string& part) {
    INFO(text, " should hold ", part);
    CHECK(text.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("the built-in series") {
    const MonthlySeries co2 = co2_series();
    REQUIRE(co2.size() == 468);
    CHECK(co2.time.front() == doctest::Approx(1959 + 0.5 / 12).epsilon(1e-12));
    CHECK(co2.time.back() == doctest::Approx(1997 + 11.5 / 12).epsilon(1e-12));
    CHECK(co2.value.front() == 315.42);
    CHECK(co2.value.back() == 364.34);
    CHECK(std::accumulate(co2.value.begin(), co2.value.end(), 0.0) ==
          doctest::Approx(468 * 337.0535256).epsilon(1e-9));
    const MonthlySeries airline = airline_series();
    REQUIRE(airline.size() == 144);
    CHECK(airline.value.front() == 112);
    CHECK(airline.value.back() == 432);
    CHECK(std::accumulate(airline.value.begin(), airline.value.end(), 0.0) == 40363);
}

TEST_CASE("gaps are allowed, other columns too") {
    const MonthlySeries s =
        read_monthly(Csv::parse("note,value,month\nx,1,1999-12\ny,2,2001-03\n", "a.csv"));
    CHECK(s.value == std::vector<double>{1, 2});
    CHECK(s.time[1] == doctest::Approx(2001 + 2.5 / 12).epsilon(1e-12));
}

TEST_CASE("what is no ascending series of months is refused") {
    check_contains(refusal("month,value\n"), "found no row below the header");
    check_contains(refusal("month,value\n1959-01,1\n1959-01,2\n"),
                   "line 3, column 1 (month): found “1959-01”, expected a month after 1959-01");
    check_contains(refusal("month,value\n1959-02,1\n1959-01,2\n"),
                   "expected a month after 1959-02");
    for (const char* month : {"1959", "1959-13", "1959-00", "1959-1", "59-01", "1959/01",
                              "1959-01-01", "-959-01", "1959--1", "abcd-ef"})
        check_contains(refusal("month,value\n" + std::string(month) + ",1\n"),
                       "found “" + std::string(month) + "”, expected a month like 1959-01");
    check_contains(refusal("month,value\n1959-01,x\n"), "(value): found “x”, expected a number");
    check_contains(refusal("date,value\n1959-01,1\n"), "expected one called “month”");
}

TEST_CASE("values whose squares leave the doubles are refused by line") {
    for (const char* value : {"1e101", "-1.1e100", "1e-101", "-9e-101", "5e-324"})
        check_contains(refusal("month,value\n1959-01,0\n1959-02," + std::string(value) + "\n"),
                       "line 3, column 2 (value): found “" + std::string(value) +
                           "”, expected 0 or a magnitude from 1e-100 to 1e100");
    CHECK(refusal("month,value\n1959-01,1e100\n1959-02,-1e-100\n1959-03,-0\n") == "accepted");
}

TEST_CASE("a split is a partition into 80, 10 and 10 per cent") {
    for (const int64_t n : {10, 144, 468, 1001}) {
        const Split split = random_split(n, Key{3});
        CAPTURE(n);
        std::vector<int64_t> all;
        for (const auto* part : {&split.train, &split.validation, &split.test}) {
            CHECK(std::ranges::is_sorted(*part));
            all.insert(all.end(), part->begin(), part->end());
        }
        std::ranges::sort(all);
        std::vector<int64_t> every(static_cast<size_t>(n));
        std::iota(every.begin(), every.end(), 0);
        CHECK(all == every);
        CHECK(std::abs(double(split.train.size()) - 0.8 * double(n)) <= 0.5);
        CHECK(std::abs(double(split.validation.size()) - 0.1 * double(n)) <= 0.5);
        CHECK(std::abs(double(split.test.size()) - 0.1 * double(n)) <= 1);
    }
    CHECK_THROWS_AS(random_split(9, Key{0}), ValueError);
}

TEST_CASE("the split depends on its key and nothing else") {
    CHECK(random_split(468, Key{7}).test == random_split(468, Key{7}).test);
    CHECK(random_split(468, Key{7}).test != random_split(468, Key{8}).test);
    CHECK(random_split(468, Key{7, 1}).test != random_split(468, Key{7, 2}).test);
}

TEST_CASE("every point is tested by some split") {
    std::vector<int> seen(144, 0);
    for (uint64_t seed = 0; seed < 200; ++seed)
        for (const int64_t i : random_split(144, Key{seed}).test) ++seen[size_t(i)];
    CHECK(std::ranges::min(seen) >= 5);  // 20.8 expected
    CHECK(std::ranges::max(seen) <= 45);
}
