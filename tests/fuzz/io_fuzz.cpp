// Random bytes and damaged files through the readers of engine/io.
//
//   io_fuzz [random bytes] [damaged files of each format] [seed]
//
// A reader may accept or refuse, nothing else: no crash (run it with the sanitizers), no other
// exception, the same verdict and tensors by copy and by mapping, and no allocation above twice the
// file's size plus `fixed` (five times where `widen` was asked for). Deterministic.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/io/npy.h"
#include "engine/io/safetensors.h"
#include "tests/fuzz/allocations.h"
#include "tests/fuzz/mutator.h"

namespace {

using namespace mercer;
using namespace mercer::io;
using namespace mercer::test;

constexpr size_t fixed = 4096;  // messages, paths, the parser's own buffers

// What a reader said of a file. `hash` is over all names, types, shapes and elements.
struct Verdict {
    Reject code{};
    bool accepted = false;
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    size_t peak = 0;                        // when the header was read
    friend bool operator==(const Verdict& a, const Verdict& b) {
        return a.accepted == b.accepted && a.code == b.code && a.hash == b.hash;
    }
    std::string_view name() const { return accepted ? "accepted" : name_of(code); }

    void add(const void* data, size_t bytes) {
        const auto* at = static_cast<const unsigned char*>(data);
        for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 1099511628211u;
    }
    void add(const Tensor& tensor) {
        const Tensor t = tensor.contiguous();
        const DType dtype = t.dtype();
        add(&dtype, sizeof dtype);
        add(t.shape().begin(), size_t(t.rank()) * sizeof(int64_t));
        add(t.raw(), size_t(t.count()) * size_of(dtype));
    }
};

struct Format {
    const char* name;
    std::vector<Seed> seeds;
    Verdict (*read)(const std::filesystem::path& path, const ReadOptions& options);
    int reasons;  // how many different ones the damage must lead to
    std::map<std::string_view, int> verdicts = {};
    double largest = 0, peak = 0;  // in sizes of the file, for files above `fixed`
};

Verdict read_safetensors(const std::filesystem::path& path, const ReadOptions& options) {
    Verdict verdict;
    try {
        const Safetensors file = Safetensors::open(path, options);
        verdict.peak = allocations_so_far().peak;
        verdict.accepted = true;
        for (size_t i = 0; i < file.size(); ++i) {
            const TensorInfo info = file.info(i);
            verdict.add(info.name.data(), info.name.size());
            verdict.add(info.shape.data(), info.shape.size() * sizeof(int64_t));
            try {
                verdict.add(file.read(info.name));
            } catch (const Rejected& error) {
                const Reject code = error.code();
                verdict.add(&code, sizeof code);
            }
        }
        for (const auto& [key, value] : file.metadata()) {
            verdict.add(key.data(), key.size());
            verdict.add(value.data(), value.size());
        }
    } catch (const Rejected& error) {
        verdict.code = error.code();
    }
    return verdict;
}

Verdict read_npy_file(const std::filesystem::path& path, const ReadOptions& options) {
    Verdict verdict;
    try {
        const Tensor t = read_npy(path, options);
        verdict.peak = allocations_so_far().peak;
        verdict.accepted = true;
        verdict.add(t);
    } catch (const Rejected& error) {
        verdict.code = error.code();
    }
    return verdict;
}

class Fuzzer {
public:
    explicit Fuzzer(std::string directory) : path_(std::move(directory) + "/file") {}

    // Ends the program, the file kept, when a reader does what it must not.
    void read(Format& format, const std::string& bytes) {
        std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
        const auto once = [&](const ReadOptions& options, double times) {
            Verdict verdict;
            watch_allocations();
            try {
                verdict = format.read(path_, options);
            } catch (const std::exception& error) {
                stop_watching();
                fail(format, bytes, std::string("another exception: ") + error.what());
            }
            const size_t largest = stop_watching().largest;
            const double size = double(bytes.size());
            if (double(largest) > times * size + fixed)
                fail(format, bytes, "an allocation of " + std::to_string(largest) + " bytes");
            if (!options.widen && bytes.size() > fixed) {
                format.largest = std::max(format.largest, double(largest) / size);
                format.peak = std::max(format.peak, double(verdict.peak) / size);
            }
            return verdict;
        };
        const Verdict copied = once({}, 2), mapped = once({.map = true}, 2);
        if (!(copied == mapped))
            fail(format, bytes,
                 std::string(copied.name()) + " by copy, " + std::string(mapped.name()) +
                     " mapped, or other values");
        // Bytes to i32 is four times; the allocator's size classes add up to a quarter.
        (void)once({.widen = true}, 5);
        ++format.verdicts[copied.name()];
    }

private:
    [[noreturn]] void fail(const Format& format, const std::string& bytes, const std::string& why) {
        const std::string kept = std::string("io_fuzz.") + format.name;
        std::ofstream(kept, std::ios::binary) << bytes;
        std::printf("%s, a file of %zu bytes (kept as %s): %s\n", format.name, bytes.size(),
                    kept.c_str(), why.c_str());
        std::exit(1);
    }
    std::string path_;
};

// The limit is seen to be broken: else the counting counts nothing.
bool counts() {
    watch_allocations();
    { const std::string text(100'000, 'x'); }
    const size_t by_new = stop_watching().largest;
    watch_allocations();
    { const Tensor t = Tensor::empty({100'000}, DType::f64); }
    const size_t by_tensors = stop_watching().largest;
    return by_new >= 100'000 && by_new < 110'000 && by_tensors >= 800'000;
}

}  // namespace

int main(int argc, char** argv) {
    const auto argument = [&](int i, uint64_t otherwise) {
        return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
    };
    const uint64_t random_bytes = argument(1, 10'000'000), files = argument(2, 10'000);
    Mutator mutator(argument(3, 1));
    if (!counts()) {
        std::puts("allocations are not counted");
        return 1;
    }
    std::string directory = (std::filesystem::temp_directory_path() / "io_fuzz-XXXXXX").string();
    if (!::mkdtemp(directory.data())) return 1;
    Fuzzer fuzzer(directory);
    Format formats[] = {{"safetensors", safetensors_seeds(), read_safetensors, 38},
                        {"npy", npy_seeds(), read_npy_file, 25}};
    for (Format& format : formats) {
        for (const Seed& seed : format.seeds) fuzzer.read(format, seed.bytes());
        if (format.verdicts["accepted"] < int(format.seeds.size()) - 2) {
            std::puts("the seeds are no good files");
            return 1;
        }
        // Raw; and as a header whose frame is right, so that they reach the parser.
        for (uint64_t done = 0; done < random_bytes;) {
            const std::string bytes = mutator.random_bytes(mutator.below(8000));
            done += bytes.size();
            const uint64_t form = mutator.below(3);
            Seed framed{form == 1 ? "{" + bytes : bytes, "", format.seeds[0].version ? 2 : 0};
            fuzzer.read(format, form ? framed.bytes() : bytes);
        }
        for (uint64_t i = 0; i < files; ++i) fuzzer.read(format, mutator.mutate(format.seeds));
        std::printf(
            "%s: %llu random bytes, %llu damaged files: %d accepted; largest allocation "
            "%.2f, most at once %.2f times the file\n ",
            format.name, static_cast<unsigned long long>(random_bytes),
            static_cast<unsigned long long>(files), format.verdicts["accepted"], format.largest,
            format.peak);
        for (const auto& [verdict, count] : format.verdicts)
            std::printf(" %s %d", std::string(verdict).c_str(), count);
        std::puts("");
        if (files >= 10'000 && int(format.verdicts.size()) < format.reasons) {
            std::puts("too few different verdicts: the damage does not reach deep enough");
            return 1;
        }
    }
    std::filesystem::remove_all(directory);
    return 0;
}
