// 1. Tensors: values, views, broadcasting, errors, files.
#include <mercer/mercer.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

using namespace mercer;

static void show(const char* what, const Tensor& t) {
    std::printf("%-34s %s\n", what, t.to_string().c_str());
}

int main() {
    // A tensor is a value: elements in memory, a shape, a type. Copies share the memory.
    const Tensor a = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
    show("a", a);

    // Views name the same elements by other indices; nothing is copied.
    show("transpose(a)", transpose(a));
    show("every second column, backwards", slice(a, 1, 2, -4, -2));

    // Operations make new tensors. Shapes broadcast: axes align at the end, size 1 repeats.
    const Tensor row = Tensor::from({10, 20, 30});
    show("a + row", a + row);
    show("mean over the last axis", mean(a, {-1}, true));
    show("a minus its row means", a - mean(a, {-1}, true));
    show("a times its transpose", matmul(a, transpose(a)));

    // Types never mix in silence: a number takes the tensor's, another tensor has to be cast.
    show("cast(a, f64) / 3", cast(a, DType::f64) / 3.0);
    try {
        matmul(a, a);
    } catch (const ShapeError& e) {
        std::printf("an error: %s\n", e.what());
    }

    // Random numbers come from a key and a position: the same on every machine and thread.
    const Tensor noise = randn(Key{2026, 1}, {2, 3});
    show("randn with key {2026, 1}", noise);

    // Kernel smoothing in three lines: scores, weights that add up to 1, an average of values.
    const Tensor score = matmul(noise, transpose(a)) / std::sqrt(3.0), weight = softmax(score);
    show("weights", weight);
    show("smoothed", matmul(weight, a));

    // Files are safetensors (or npy): read strictly, written whole or not at all.
    const auto file = std::filesystem::temp_directory_path() / "mercer_01_tensor.safetensors";
    io::write_safetensors(file, {{"a", a}, {"noise", noise}});
    show("a, read again", io::Safetensors::open(file).read("a"));
    std::filesystem::remove(file);
}
