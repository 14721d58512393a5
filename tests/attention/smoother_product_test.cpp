// Every kernel × filter × normaliser that is legal: fused equals reference (smoother_product.h). Each three
// of them at every length and at every width, and every length with every width of each two;
// MERCER_EXHAUSTIVE=1 asks for every length with every width of each three.
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "engine/parallel.h"
#include "tests/attention/smoother_product.h"
#include "tests/support/emulated.h"
#include "tests/support/restore.h"

using namespace mercer;
using namespace mercer::test;

namespace {

const std::vector<int64_t> lengths =
    MERCER_EMULATED ? std::vector<int64_t>{7, 65} : std::vector<int64_t>{0, 1, 7, 64, 65, 257};
const std::vector<int64_t> widths =
    MERCER_EMULATED ? std::vector<int64_t>{8} : std::vector<int64_t>{1, 8, 33, 64, 128};

/// By names of kernels and normalisers.
struct Worst {
    int64_t count = 0, pooled = 0, by_parts = 0;
    double float64 = 0, ratio = 0;
    std::string where64{}, where32{};
    void add(const Outcome& o) {
        ++count, pooled += o.draws > 1, by_parts += o.by_parts;
        if (o.float64 > float64) float64 = o.float64, where64 = o.name;
        if (o.ratio > ratio) ratio = o.ratio, where32 = o.name;
    }
};
std::string to_string(const Worst& w) {
    std::ostringstream s;
    s << w.count << ", float64 " << w.float64 << " (" << w.where64 << "), float32 " << w.ratio
      << " (" << w.where32 << "), " << w.by_parts << " by parts, of " << w.pooled
      << " several draws";
    return s.str();
}

std::vector<Combination> product(bool exhaustive) {
    const auto kernels = product_kernels(1, 1);
    const auto filters = product_filters(7);
    const auto normalisers = product_normalisers(1, 1);
    std::vector<Combination> all;
    for (size_t k = 0; k < kernels.size(); ++k)
        for (size_t f = 0; f < filters.size(); ++f)
            for (size_t n = 0; n < normalisers.size(); ++n) {
                if (!legal(kernels[k], filters[f], normalisers[n])) continue;
                if (MERCER_EMULATED && !normalisers[n].divides && n != (k + f) % 6) continue;
                for (size_t t = 0; t < lengths.size(); ++t)
                    for (size_t w = 0; w < widths.size(); ++w)
                        if (exhaustive || (k + f + n + t) % widths.size() == w)
                            all.push_back({lengths[t], widths[w], k, f, n});
            }
    return all;
}

}  // namespace

TEST_CASE("fused equals reference for every kernel × filter × normaliser") {
    reduced_under_emulation("the product of kernels, filters and normalisers");
    const bool exhaustive = std::getenv("MERCER_EXHAUSTIVE");
    const std::vector<Combination> all = product(exhaustive);
    const auto kernels = product_kernels(1, 1);
    const auto normalisers = product_normalisers(1, 1);

    const Restore restore;
    const int threads = thread_count();
    set_thread_count(1);  // of one smoother: they run beside each other
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::map<std::string, Worst> worst;
    std::vector<std::string> failures;
    const auto work = [&] {
        for (size_t at; (at = next++) < all.size();) {
            const Combination& c = all[at];
            Outcome o;
            try {
                o = compare(c);
            } catch (const std::exception& e) {
                o.failures.push_back(kernels[c.kernel].name + ", " + e.what());
            }
            const std::lock_guard lock(mutex);
            for (const std::string& name :
                 {std::string("all"), kernels[c.kernel].name, normalisers[c.normaliser].name})
                worst[name].add(o);
            failures.insert(failures.end(), o.failures.begin(), o.failures.end());
        }
    };
    std::vector<std::thread> others;
    for (int n = 1; n < threads; ++n) others.emplace_back(work);
    work();
    for (std::thread& t : others) t.join();

    for (const std::string& f : failures) FAIL_CHECK(f);
    for (const auto& [name, w] : worst)
        if (exhaustive || name == "all") MESSAGE(name << ": " << to_string(w));
    // Rotated, each three at six lengths.
    if (!exhaustive && !MERCER_EMULATED) CHECK(all.size() > 18000);
}

TEST_CASE("the same bits on every instruction set and for any number of threads") {
    const auto kernels = product_kernels(1, 1);
    const auto normalisers = product_normalisers(1, 1);
    const auto filters = product_filters(7);
    size_t f = 0;  // every kernel with every normaliser, filters in turn
    for (size_t k = 0; k < kernels.size(); ++k)
        for (size_t n = 0; n < normalisers.size(); ++n) {
            if (MERCER_EMULATED && n % 3 != k % 3) continue;
            f = (f + 1) % filters.size();
            if (!legal(kernels[k], filters[f], normalisers[n])) continue;
            const Subject s({(k + n) % 2 ? 140 : 300, 8, k, f, n});
            const std::vector<Tensor> x = in_float32(s.operands(0));
            check_same_bits(s.name, [&] { return s.results(true, x); });
        }
}
