// C = A·B into a C that exists; and against OpenBLAS, shape by shape.
#include "engine/cpu/gemm.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/cases.h"
#include "engine/cpu/openblas.h"
#include "engine/isa.h"

extern "C" char* openblas_get_corename(void);  // whose kernels it chose

namespace mercer::bench {
namespace {

void product(benchmark::State& state, const Shape& a_shape, const Shape& b_shape) {
    const Tensor a = normal(1, a_shape), b = normal(2, b_shape);
    Tensor c = matmul(a, b);
    for (auto _ : state) {
        matmul_into(c, a, b);
        benchmark::ClobberMemory();
    }
    count_flops(state, 2.0 * double(c.count()) * double(a.size(-1)));
}

/// c(m×n) = a(m×k)·b(k×n), a or b transposed in memory if asked.
struct Sweep {
    int64_t m, n, k;
    const char* form = "";  // "T" in front: a is; behind: b is

    double flops() const { return 2.0 * double(m) * double(n) * double(k); }
    /// So often in a row, for 20 µs or more.
    int64_t times() const { return int64_t(std::clamp(1e6 / flops(), 1.0, 1000.0)); }
    /// So many such rows, some tenths of a second: counted here, for a time that is ours alone says
    /// nothing of how long a case takes.
    int64_t rows() const {
        return int64_t(std::clamp(2e10 / (flops() * double(times())), 5.0, 2000.0));
    }
};

template <class T>
double seconds(int64_t times, T run) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < times; ++i) run();
    benchmark::ClobberMemory();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
           double(times);
}

/// Ours, timed; OpenBLAS in turn, so that noise meets both. The counter `ratio` is the median of
/// its time over ours: above 1 we are ahead. The label says whose kernels OpenBLAS ran: those of a
/// processor that it does not know are for SSE3, against which nothing is proved.
template <class T>
void against_openblas(benchmark::State& state, const Sweep& s) {
    const std::string core = openblas_get_corename(), form = s.form;
    if (core == "Prescott" && is_available(Isa::avx2))
        return state.SkipWithError(
            "OpenBLAS does not know this processor: set OPENBLAS_CORETYPE to Haswell or SkylakeX");
    state.SetLabel("OpenBLAS " + core);
    const DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
    const Tensor a = cast(normal(1, {s.m, s.k}), dtype), b = cast(normal(2, {s.k, s.n}), dtype);
    const Tensor ours = Tensor::empty({s.m, s.n}, dtype), theirs = Tensor::empty({s.m, s.n}, dtype);
    const auto data = [](const Tensor& t) { return static_cast<T*>(t.raw()); };
    const bool left = form == "TN", right = form == "NT";
    const cpu::MatrixView<const T> l{data(a), left ? 1 : s.k, left ? s.m : 1},
        r{data(b), right ? 1 : s.n, right ? s.k : 1};
    const auto run_ours = [&] { cpu::gemm<T>(s.m, s.n, s.k, l, r, {data(ours), s.n, 1}); };
    const auto run_theirs = [&] {
        openblas::gemm(T{})(101, left ? 112 : 111, right ? 112 : 111, int(s.m), int(s.n), int(s.k),
                            1, data(a), int(left ? s.m : s.k), data(b), int(right ? s.k : s.n), 0,
                            data(theirs), int(s.n));
    };
    const int64_t times = s.times();
    run_ours(), run_theirs();
    // Both are within k·eps of the truth, relative to Σ|a·b|; these inputs are standard normal.
    const double worst =
        max(abs(sub(cast(ours, DType::f64), cast(theirs, DType::f64)))).item<double>();
    const double eps = sizeof(T) == 8 ? 2.3e-16 : 1.2e-7;
    if (!(worst <= 2 * double(s.k) * eps * double(s.k)))
        return state.SkipWithError("differs from OpenBLAS by more than rounding");
    std::vector<double> ratios;
    for (auto _ : state) {
        const double mine = seconds(times, run_ours);
        ratios.push_back(seconds(times, run_theirs) / mine);
        state.SetIterationTime(mine);
    }
    std::nth_element(ratios.begin(), ratios.begin() + long(ratios.size() / 2), ratios.end());
    state.counters["ratio"] = ratios[ratios.size() / 2];
    count_flops(state, s.flops());
}

void add_sweep() {
    std::vector<Sweep> shapes;
    for (int64_t n : {16,  20,  24,  32,  33,  48,  50,  64,   65,   84,   96,
                      100, 128, 192, 256, 384, 512, 768, 1000, 1024, 2048, 4096})
        shapes.push_back({n, n, n});
    for (const char* form : {"NT", "TN"})
        for (int64_t n : {64, 256, 1024}) shapes.push_back({n, n, n, form});
    for (int64_t thin : {2, 8, 32})
        for (int64_t n : {256, 2048}) {
            shapes.push_back({thin, n, n});
            shapes.push_back({n, thin, n});
            shapes.push_back({n, n, thin});
            shapes.push_back({n, n, thin, "TN"});
        }
    for (int64_t n : {16, 32, 64, 96, 128, 192, 256, 1024, 4096}) {
        shapes.push_back({1, n, n});
        shapes.push_back({n, 1, n});
        shapes.push_back({1, n, n, "NT"});
        shapes.push_back({n, 1, n, "TN"});
    }
    // A few rows, and dimensions on both sides of a line and of 64.
    for (int64_t m : {5, 12})
        for (int64_t n : {16, 64, 65}) shapes.push_back({m, n, 32});
    shapes.push_back({8, 16, 8}), shapes.push_back({24, 24, 96}), shapes.push_back({65, 65, 64});
    for (const Sweep& s : shapes) {
        const std::string name =
            std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + s.form;
        const auto add = [&](const char* type, auto run) {
            benchmark::RegisterBenchmark(("gemm_sweep/" + std::string(type) + "/" + name).c_str(),
                                         std::move(run))
                ->UseManualTime()
                ->Iterations(s.rows())
                ->Unit(benchmark::kMicrosecond);
        };
        add("f32", [s](benchmark::State& state) { against_openblas<float>(state, s); });
        add("f64", [s](benchmark::State& state) { against_openblas<double>(state, s); });
    }
}

}  // namespace

void add_gemm() {
    for (int64_t n : {64, 256, 1024, 2048})
        add_case("gemm/" + std::to_string(n), [n](benchmark::State& state) {
            product(state, {n, n}, {n, n});
        });
    add_case("gemm/batched_96x256x64x256", [](benchmark::State& state) {
        product(state, {96, 256, 64}, {96, 64, 256});
    });
    add_sweep();
}

}  // namespace mercer::bench
