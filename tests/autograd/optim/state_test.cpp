// A state goes through a file and continues bit for bit; one that does not fit is refused by name.
#include "autograd/optim/state.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/io/safetensors.h"
#include "engine/random.h"
#include "tests/autograd/optim/every.h"
#include "tests/support/bits.h"
#include "tests/support/files.h"

using namespace mercer;

namespace {

std::vector<Tensor> gradients(uint64_t t) {
    return {randn(Key{2, t}, {1000}), randn(Key{3, t}, {7, 3}, DType::f64),
            t % 3 ? randn(Key{4, t}, {1}) : Tensor()};
}

struct Model {
    std::vector<Tensor> p{randn(Key{1, 1}, {1000}), randn(Key{1, 2}, {7, 3}, DType::f64),
                          randn(Key{1, 3}, {1})};
    std::vector<Tensor*> at() { return {&p[0], &p[1], &p[2]}; }
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("resumed from a file, a run is the same to the last bit") {
    const test::TemporaryDirectory folder;
    for (const every::Row& row : every::row()) {
        Model model, resumed;
        const std::unique_ptr<Optimizer> one = row.make(), two = row.make();
        for (uint64_t t = 1; t <= 6; ++t) one->step(model.at(), gradients(t));
        one->set_lr(0.003);
        NamedTensors file;
        add_part(file, "optimizer", one->state());
        for (size_t i = 0; i < 3; ++i) file.emplace("model." + std::to_string(i), model.p[i]);
        io::write_safetensors(folder / "state.safetensors", file);
        const NamedTensors read = io::Safetensors::open(folder / "state.safetensors").read_all();
        two->restore(part_of(read, "optimizer"));
        for (size_t i = 0; i < 3; ++i) resumed.p[i] = read.at("model." + std::to_string(i));
        CHECK(two->lr() == 0.003);
        for (uint64_t t = 7; t <= 12; ++t) {
            one->step(model.at(), gradients(t));
            two->step(resumed.at(), gradients(t));
        }
        for (size_t i = 0; i < 3; ++i)
            CHECK_MESSAGE(difference(model.p[i], resumed.p[i]) == "", row.name, ", tensor ", i);
        const NamedTensors a = one->state(), b = two->state();
        for (const auto& [name, tensor] : a)
            CHECK_MESSAGE(difference(tensor, b.at(name)) == "", row.name, ", ", name);
    }
}

TEST_CASE("a state is a copy, and one of no steps starts anew") {
    Model model;
    Adam adam;
    const NamedTensors fresh = adam.state();
    adam.step(model.at(), gradients(1));
    const NamedTensors first = adam.state();
    const Tensor kept = first.at("m.0").clone();
    adam.step(model.at(), gradients(2));
    CHECK(difference(kept, first.at("m.0")) == "");
    adam.restore(first);
    CHECK(difference(kept, adam.state().at("m.0")) == "");
    adam.restore(fresh);
    CHECK(adam.state().size() == 2);
    Tensor other = Tensor::ones({2});  // other parameters than before
    adam.step(std::vector<Tensor*>{&other}, std::vector<Tensor>{Tensor::ones({2})});
}

TEST_CASE("what does not fit is refused by its name, and nothing is changed") {
    Model model;
    Adam adam;
    adam.step(model.at(), gradients(1));
    const NamedTensors good = adam.state();
    const auto with = [&](const char* name, const Tensor& t) {
        NamedTensors state = good;
        state[name] = t;
        return state;
    };
    const auto without = [&](const char* name) {
        NamedTensors state = good;
        state.erase(name);
        return state;
    };
    for (const bool fresh : {false, true}) {
        Adam other;
        Adam& to = fresh ? other : adam;
        CHECK(has(message_of<ValueError>([&] { to.restore(without("v.1")); }), "'v.1'"));
        CHECK(has(message_of<ValueError>([&] { to.restore(without("lr")); }), "'lr'"));
        CHECK(has(message_of<ValueError>([&] { to.restore(with("v.3", Tensor::ones({1}))); }),
                  "'v.3'"));
        CHECK(has(message_of<ShapeError>([&] { to.restore(with("v.0", Tensor::ones({9}))); }),
                  "'v.0'"));
        CHECK(has(message_of<DTypeError>([&] {
                      to.restore(with("v.1", Tensor::ones({7, 3})));
                  }),
                  "'v.1'"));
        CHECK(has(message_of<DTypeError>([&] { to.restore(with("step", Tensor::ones({3}))); }),
                  "'step'"));
        CHECK(has(message_of<ValueError>(
                      [&] { to.restore(with("step", Tensor::full({3}, -1, DType::i64))); }),
                  "'step'"));
        for (const int64_t most : {int64_t{1} << 53, INT64_MAX}) {  // a step more is none
            const NamedTensors far = with("step", Tensor::from(std::vector<int64_t>(3, most)));
            const std::string text = message_of<ValueError>([&] { Adam().restore(far); });
            CHECK((text == "accepted") == (most != INT64_MAX));
        }
        CHECK(has(
            message_of<ValueError>([&] { to.restore(with("lr", Tensor::scalar(-1, DType::f64))); }),
            "lr"));
    }
    const NamedTensors after = adam.state();
    for (const auto& [name, tensor] : good) CHECK(difference(tensor, after.at(name)) == "");
    // Consistent in itself, but of other parameters: the next step says so.
    Adam other;
    other.restore(good);
    Model turned;
    std::swap(turned.p[0], turned.p[2]);
    std::vector<Tensor> g = gradients(2);
    std::swap(g[0], g[2]);
    CHECK(has(message_of<ShapeError>([&] { other.step(turned.at(), g); }), "'m.0'"));
}

TEST_CASE("parts of a file") {
    NamedTensors whole;
    add_part(whole, "a", {{"x", Tensor::ones({1})}, {"y.z", Tensor::ones({2})}});
    add_part(whole, "a.b", {{"x", Tensor::ones({3})}});
    add_part(whole, "ab", {{"x", Tensor::ones({4})}});
    CHECK(part_of(whole, "a").size() == 3);
    CHECK(part_of(whole, "a.b").at("x").count() == 3);
    CHECK(part_of(whole, "ab").size() == 1);
    CHECK(part_of(whole, "c").empty());
    CHECK_THROWS_AS(add_part(whole, "a", {{"x", Tensor::ones({1})}}), ValueError);
}
