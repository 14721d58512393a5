// Makes damaged files of good ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace mercer::test {

/// A file in parts, so that damage to the header can be followed by a length that fits: what lies
/// behind the first check is reached too.
struct Seed {
    std::string header, data;
    int version = 0;  // of npy; 0: safetensors
    std::string bytes() const;
};

std::vector<Seed> safetensors_seeds();
std::vector<Seed> npy_seeds();

class Mutator {
public:
    explicit Mutator(uint64_t seed) : random_(seed) {}
    /// One to eight faults: flipped bits, cuts, splices with other seeds, wrong lengths, edited
    /// numbers, repeated keys, deep nesting, huge shapes.
    std::string mutate(const std::vector<Seed>& seeds);
    std::string random_bytes(size_t n);
    uint64_t below(uint64_t n) { return random_() % n; }

private:
    std::string number();
    void damage_text(std::string& text, const std::string& other);
    void damage_bytes(std::string& bytes, const std::string& other);
    std::mt19937_64 random_;
};

}  // namespace mercer::test
