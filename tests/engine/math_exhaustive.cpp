// Every float through every elementary function, against the double one of libm (whose own error,
// below 1e-8 ULP of a float, does not matter). Prints the largest error and where. Not part of the
// test run: it takes minutes.
//
//   math_exhaustive [function] [stride]     e.g. math_exhaustive sin 1; stride 101 for a quick look
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "math_table.h"

namespace {

using namespace mercer;

struct Row {
    const char* name;
    MathFunction function;
    double (*reference)(double);
};
const Row rows[] = {{"exp", math_exp, std::exp},       {"log", math_log, std::log},
                    {"log1p", math_log1p, std::log1p}, {"expm1", math_expm1, std::expm1},
                    {"sin", math_sin, std::sin},       {"cos", math_cos, std::cos},
                    {"tanh", math_tanh, std::tanh},    {"erf", math_erf, std::erf}};

/// The error in units of the last place of the exact result; NaN and the sign of zero must agree.
double float_error(float got, double exact) {
    if (std::isnan(exact) || std::isnan(got))
        return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
    const double largest = 0x1.fffffep127;
    if (std::isinf(got))
        return std::fabs(exact) >= largest && (got > 0) == (exact > 0) ? 0 : INFINITY;
    if (std::isinf(exact)) return INFINITY;
    if (got == 0 && exact == 0) return std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
    const int exponent = exact == 0 ? -149 : std::max(std::ilogb(exact), -126) - 23;
    return std::ldexp(std::fabs(double(got) - exact), -exponent);
}

void report(const char* name, const MathKernel<float> kernel, double (*reference)(double, double),
            double (*reference1)(double), float y, uint64_t stride) {
    constexpr int block = 4096;
    std::vector<float> in(block), in2(block, y), out(block);
    double worst = 0;
    float where = 0, value = 0;
    uint64_t count = 0, wrong = 0;
    for (uint64_t next = 0; next < uint64_t(1) << 32;) {
        int n = 0;
        for (; n < block && next < uint64_t(1) << 32; ++n, next += stride)
            in[size_t(n)] = std::bit_cast<float>(uint32_t(next));
        kernel(in.data(), in2.data(), out.data(), n);
        for (size_t i = 0; i < size_t(n); ++i) {
            const double exact = reference ? reference(in[i], y) : reference1(in[i]);
            const double error = float_error(out[i], exact);
            ++count;
            wrong += error > 0.5 + 1e-6;
            if (error > worst) {
                worst = error;
                where = in[i];
                value = out[i];
            }
        }
    }
    std::printf("%-6s", name);
    if (reference) std::printf(" y=%-12g", double(y));
    std::printf(" max %.4f ULP at %a (got %a); %.4f%% not correctly rounded\n", worst,
                double(where), double(value), 100.0 * double(wrong) / double(count));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const char* only = argc > 1 ? argv[1] : "all";
    const uint64_t stride = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
#if defined(__aarch64__)
    const MathTable& table = neon::math_table;
#else
    const char* isa = std::getenv("MERCER_ISA");
    const MathTable& table = isa && !std::strcmp(isa, "scalar")   ? scalar::math_table
                             : isa && !std::strcmp(isa, "avx2")   ? avx2::math_table
                             : __builtin_cpu_supports("avx512dq") ? avx512::math_table
                             : __builtin_cpu_supports("avx2")     ? avx2::math_table
                                                                  : scalar::math_table;
#endif
    const bool all = !std::strcmp(only, "all");
    for (const Row& row : rows)
        if (all || !std::strcmp(only, row.name))
            report(row.name, table.f32[row.function], nullptr, row.reference, 0, stride);
    if (all || !std::strcmp(only, "pow"))
        for (const float y : {2.0f, -1.0f, 0.5f, 3.0f, -0.3333333f, 1.7f, -7.0f, 25.3f, 1e-3f,
                              1000.1f, 1e6f, -1e7f, 3e8f, 1e-40f})
            report("pow", table.f32[math_pow], std::pow, nullptr, y, stride);
}
