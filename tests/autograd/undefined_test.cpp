// A Tensor() among the operands: a typed error that names the operation, on tensors and on a tape alike; never a fault.
#include <doctest/doctest.h>

#include "autograd/call.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "tests/cases.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {

Attribute any_value(const Parameter& p) {
    if (p.fallback) return *p.fallback;
    if (p.type == "int" || p.type == "int|none") return int64_t{1};
    if (p.type == "float") return 0.5;
    if (p.type == "bool") return false;
    if (p.type == "ints") return std::vector<int64_t>{1, 1};
    if (p.type == "key") return std::vector<int64_t>{1, 2};
    if (p.type == "dtype") return std::string("f32");
    return p.type.substr(0, p.type.find('|'));
}

std::vector<Argument> arguments(const Callable& c, const Var& operand, size_t undefined) {
    std::vector<Argument> given;
    for (size_t k = 0; k < c.parameters.size(); ++k) {
        const Parameter& p = c.parameters[k];
        if (p.kind == Parameter::Kind::attribute)
            given.emplace_back(any_value(p));
        else if (p.kind == Parameter::Kind::values)
            given.emplace_back(std::vector<Var>{operand, k == undefined ? Var() : operand});
        else
            given.emplace_back(std::vector<Var>{k == undefined ? Var() : operand});
    }
    return given;
}

}  // namespace

TEST_CASE("every operation of the list refuses an undefined operand that must be there") {
    for (const Callable& c : callables())
        for (size_t k = 0; k < c.parameters.size(); ++k) {
            if (c.parameters[k].kind == Parameter::Kind::attribute) continue;
            for (const Shape& shape :
                 {Shape{}, Shape{3}, Shape{3, 3}, Shape{2, 3, 3}, Shape{1, 2, 3, 3}})
                for (DType dtype : {DType::f32, DType::i64, DType::boolean})
                    for (bool watched : {false, true}) {
                        if (watched && dtype != DType::f32) continue;
                        CAPTURE(c.info->name);
                        CAPTURE(c.parameters[k].name);
                        CAPTURE(to_string(dtype, shape));
                        CAPTURE(watched);
                        Tape tape;
                        const Tensor ones = Tensor::ones(shape, dtype);
                        const Var operand = watched ? tape.watch(ones) : Var(ones);
                        const std::string message =
                            message_of([&] { c.invoke(arguments(c, operand, k)); });
                        if (!c.parameters[k].optional) CHECK(message != "accepted");
                        if (message != "accepted") CHECK(message.starts_with("["));
                    }
        }
}

TEST_CASE("so does every case") {
    for (const cases::Case& c : cases::small()) {
        const std::vector<Tensor> inputs = cases::make_inputs(c, DType::f64);
        for (size_t k = 0; k < inputs.size(); ++k) {
            Tape tape;
            std::vector<Var> constants, watched;
            for (size_t i = 0; i < inputs.size(); ++i) {
                constants.push_back(i == k ? Var() : Var(inputs[i]));
                watched.push_back(i == k ? Var() : tape.watch(inputs[i]));
            }
            for (const auto& operands : {constants, watched}) {
                const std::string message = message_of([&] { c.f(operands); });
                if (message != "accepted") CHECK_MESSAGE(message.starts_with("["), message);
            }
        }
    }
}

TEST_CASE("what is undefined is said, and by which operation") {
    const Tensor none, x = Tensor::ones({2, 3}), number = Tensor::scalar(1),
                       mask = Tensor::ones({2, 3}, DType::boolean);
    const std::string text = " an operand is undefined";
    CHECK(message_of<ValueError>([&] { where(mask, x, none); }).starts_with("[where]" + text));
    CHECK(message_of<ValueError>([&] { where(mask, none, x); }).starts_with("[where]" + text));
    CHECK(message_of<ValueError>([&] { less(x, none); }).starts_with("[less]" + text));
    CHECK(message_of<ValueError>([&] { less(none, 1); }).starts_with("[less]" + text));
    CHECK(message_of<ValueError>([&] { add(x, none); }).starts_with("[add]" + text));
    CHECK(message_of<ValueError>([&] { add(number, none); }).starts_with("[add]" + text));
    CHECK(message_of<ValueError>([&] { none* number; }).starts_with("[mul]" + text));
    CHECK(message_of<ValueError>([&] { exp(none); }).starts_with("[exp]" + text));
    CHECK(message_of<ValueError>([&] { isnan(none); }).starts_with("[isnan]" + text));
    CHECK(message_of<ValueError>([&] { sum(none); }).starts_with("[sum]" + text));
    CHECK(message_of([&] { none.item<float>(); }) != "accepted");
    CHECK(message_of([&] { none.clone(); }) != "accepted");
    CHECK(message_of([&] { none.contiguous(); }) != "accepted");
    CHECK(message_of([&] { matmul(x, none); }).starts_with("[matmul]"));
    Tape tape;
    CHECK(message_of<ValueError>([&] { tape.watch(none); }).starts_with("[watch]" + text));
}
