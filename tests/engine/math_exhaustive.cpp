// The errors of the elementary and special functions at full length; docs/accuracy.md holds what it
// prints. Not part of the test run: it takes minutes. Exit status 1 where a bound is exceeded.
//
//   math_exhaustive f32 [function] [stride]   every stride-th float (1) against a double reference
//   math_exhaustive f64 [function] [points]   10^7 doubles against MPFR
//   math_exhaustive pow [pairs], or atan2     10^9 pairs of floats against long double, the worst
//                                             of them against MPFR; then 10^7 of doubles
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "math_isas.h"
#include "math_points.h"
#include "ulp.h"

namespace {

using namespace mercer;
using namespace mercer::test;

constexpr size_t block = 4096;
std::atomic<bool> failed = false;

const MathTable& table() {
    const char* name = std::getenv("MERCER_ISA");
    for (const MathIsa& isa : isas())
        if (name && isa.name == name) return *isa.table;
    return *isas().back().table;
}

/// The error in units of the last place of the exact result; NaN and the sign of zero must agree.
double float_error(float got, double exact, double floor) {
    if (std::isnan(exact) || std::isnan(got))
        return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
    const double largest = 0x1.fffffep127;
    if (std::isinf(got))
        return std::fabs(exact) >= largest && (got > 0) == (exact > 0) ? 0 : INFINITY;
    if (std::isinf(exact)) return INFINITY;
    if (got == 0 && exact == 0) return std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
    const double size = std::max(std::fabs(exact), floor);
    const int exponent = size == 0 ? -149 : std::max(std::ilogb(size), -126) - 23;
    return std::ldexp(std::fabs(double(got) - exact), -exponent);
}

/// work(thread, threads) on every core.
template <class Work>
void on_all_cores(Work work) {
    const unsigned n = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < n; ++t) threads.emplace_back(work, t, n);
    for (std::thread& t : threads) t.join();
}

template <class T>
struct Tally {
    std::vector<Worst<T>> parts = std::vector<Worst<T>>(std::thread::hardware_concurrency() + 1);
    Worst<T> worst() const {
        Worst<T> all;
        for (const Worst<T>& w : parts) all.take(w.error, w.x, w.y, w.got);
        return all;
    }
    void print(const char* name, uint64_t count, double bound) const {
        const Worst<T> w = worst();
        const bool good = w.error <= bound;
        if (!good) failed = true;
        std::printf("%-16s %s  %.3f ULP at %a", name, sizeof(T) == 4 ? "f32" : "f64", w.error,
                    double(w.x));
        if (w.y != 0) std::printf(", %a", double(w.y));
        std::printf(" (got %a), %llu points, bound %.2f%s\n", double(w.got),
                    static_cast<unsigned long long>(count), bound, good ? "" : "  EXCEEDED");
        std::fflush(stdout);
    }
};

void every_float(const Function& f, uint64_t stride) {
    const uint64_t end = uint64_t(1) << 32;
    Tally<float> tally;
    on_all_cores([&](unsigned thread, unsigned threads) {
        std::vector<float> in(block), out(block);
        Worst<float> worst;
        for (uint64_t start = thread * block * stride; start < end;
             start += threads * block * stride) {
            size_t n = 0;
            for (uint64_t next = start; n < block && next < end; ++n, next += stride)
                in[n] = std::bit_cast<float>(uint32_t(next));
            table().f32[f.id](in.data(), nullptr, out.data(), int64_t(n));
            for (size_t i = 0; i < n; ++i) {
                const double x = in[i];
                worst.take(float_error(out[i], f.reference(x), f.floor_at(x)), in[i], 0, out[i]);
            }
        }
        tally.parts[thread] = worst;
    });
    tally.print(f.name, (end + stride - 1) / stride, f.float_bound);
}

/// The error against a value in long double; negative where that cannot tell.
double error_near(double got, long double near, double floor) {
    if (!std::isfinite(got) || !std::isfinite(near) || near == 0) return -1;
    const int exponent = std::ilogb(std::max(std::fabs(near), static_cast<long double>(floor)));
    return double(std::ldexp(std::fabs(got - near), 52 - std::clamp(exponent, -1022, 1023)));
}

/// Where the function is known in long double, MPFR sees one point in 64 and those that might be the worst; that long
/// double nowhere makes an error look smaller by more than `doubt` is tested on the former.
void doubles(const Function& f, size_t count) {
    constexpr double doubt = 0.05;
    Tally<double> tally;
    on_all_cores([&](unsigned thread, unsigned threads) {
        mpfr_t exact, argument;
        mpfr_init2(exact, 96);
        mpfr_init2(argument, 53);
        Worst<double> worst;
        for (size_t done = thread * block; done < count; done += threads * block) {
            const auto x = points<double>(f, std::min(block, count - done), 1000 + done);
            std::vector<double> out(x.size());
            table().f64[f.id](x.data(), nullptr, out.data(), int64_t(x.size()));
            for (size_t i = 0; i < x.size(); ++i) {
                const double floor = f.floor_at(x[i]),
                             near = f.close ? error_near(out[i], f.close(x[i]), floor) : -1;
                if (i % 64 != 0 && near >= 0 && near < worst.error - doubt) continue;
                mpfr_set_d(argument, x[i], MPFR_RNDN);
                f.exact(exact, argument, MPFR_RNDN);
                const double error = ulp_error(out[i], exact, floor);
                if (near >= 0 && error > near + doubt) {
                    std::printf("%s: long double is off at %a by %g ULP\n", f.name, x[i],
                                error - near);
                    failed = true;
                }
                worst.take(error, x[i], 0, out[i]);
            }
        }
        mpfr_clear(exact);
        mpfr_clear(argument);
        mpfr_free_cache();
        tally.parts[thread] = worst;
    });
    tally.print(f.name, count, f.double_bound);
}

double pair_error(const PairFunction& f, double x, double y, auto got) {
    mpfr_t exact, first, second;
    mpfr_init2(exact, 96);
    mpfr_init2(first, 53);
    mpfr_init2(second, 53);
    mpfr_set_d(first, x, MPFR_RNDN);
    mpfr_set_d(second, y, MPFR_RNDN);
    f.exact(exact, first, second, MPFR_RNDN);
    const double error = ulp_error(got, exact);
    mpfr_clear(exact);
    mpfr_clear(first);
    mpfr_clear(second);
    return error;
}

template <class T>
void pairs(const PairFunction& f, uint64_t count) {
    Tally<T> tally;
    on_all_cores([&](unsigned thread, unsigned threads) {
        Worst<T> worst;
        std::vector<T> x, y, out(block);
        for (uint64_t done = thread * block; done < count; done += threads * block) {
            pair_points<T>(f, size_t(std::min<uint64_t>(block, count - done)), 7000 + done, x, y);
            kernels<T>(table())[f.id](x.data(), y.data(), out.data(), int64_t(x.size()));
            for (size_t i = 0; i < x.size(); ++i) {
                // The reference is off by far less than an ULP: only what might be the worst goes to MPFR.
                if constexpr (sizeof(T) == 4) {
                    const double near = float_error(out[i], f.reference(x[i], y[i]), 0);
                    if (near < worst.error - 1e-6) continue;
                } else {
                    const double near = error_near(out[i], f.close(x[i], y[i]), 0);
                    if (i % 64 != 0 && near >= 0 && near < worst.error - 0.05) continue;
                }
                worst.take(pair_error(f, x[i], y[i], out[i]), x[i], y[i], out[i]);
            }
        }
        mpfr_free_cache();
        tally.parts[thread] = worst;
    });
    tally.print(f.name, count, f.bound);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "f32";
    const auto number = [&](int i, double otherwise) {
        return uint64_t(argc > i ? std::atof(argv[i]) : otherwise);
    };
    for (const PairFunction& f : {pow_function, atan2_function}) {
        if (mode != f.name) continue;
        pairs<float>(f, number(2, 1e9));
        pairs<double>(f, number(2, 1e9) / 100);
        return failed;
    }
    const std::string_view only = argc > 2 ? argv[2] : "all";
    for (const Function& f : functions()) {
        if (only != "all" && only != f.name) continue;
        if (mode == "f32")
            every_float(f, number(3, 1));
        else
            doubles(f, size_t(number(3, 1e7)));
    }
    return failed;
}
