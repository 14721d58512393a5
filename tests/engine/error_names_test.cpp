// Errors name the function that was called, also where one that it is made of finds the fault.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/linalg.h"
#include "engine/memory.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {
// f where no memory is left.
template <class F>
void limited(F f) {
    set_memory_limit(1);
    try {
        f();
    } catch (const MemoryError&) {
        set_memory_limit(0);
        throw;
    }
    set_memory_limit(0);
}
}  // namespace

TEST_CASE("errors bear the name of the function that was called") {
    const Tensor x = Tensor::ones({2, 3}), square = Tensor::zeros({3, 3}),
                 index = Tensor::from(std::vector<int64_t>{0}),
                 bytes = Tensor::ones({2, 3}, DType::i32),
                 wide = broadcast_to(Tensor::ones({1, 1, 1}), {1, 1, int64_t{1} << 62});
    const Tensor both[] = {x, bytes};  // dtypes that do not fit
    const std::pair<std::string, std::function<void()>> faults[] = {
        {"solve_spd", [&] { solve_spd(square, square); }},
        {"logdet", [&] { logdet(square); }},
        {"logdet",
         [&] {
             logdet(Tensor::zeros({40, 3, 3}));
         }},  // found by a task
        {"stack", [&] { stack(both); }},
        {"flip", [&] { flip(x, 2); }},
        {"index_select", [&] { index_select(x, cast(index, DType::f32), 0); }},
        {"masked_fill", [&] { masked_fill(x, x, 0); }},
        {"segment_mean", [&] { segment_mean(x, x); }},
        {"group_norm", [&] { group_norm(bytes, 1); }},
        {"embedding", [&] { embedding(Tensor::scalar(1), index); }},
        {"embedding", [&] { embedding(x, x); }},
        {"scatter_add",
         [&] {
             scatter_add(x, Tensor::zeros({2, 1}, DType::i64), 0, -1);
         }},
        {"sum_to", [&] { sum_to(x, {-1}); }},
        {"sum_to", [&] { sum_to(cast(x, DType::bf16), {1}); }},
        {"einsum", [&] { einsum("ij,jk->ik", both); }},
        {"unsorted_segment_mean",
         [&] { unsorted_segment_mean(bytes, Tensor::zeros({2}, DType::i64), 1); }},
        {"repeat", [&] { repeat(x, int64_t{1} << 61, 0); }},  // more bytes than 64 bits count
        {"tile",
         [&] {
             const int64_t times[] = {int64_t{1} << 61, 1};
             tile(x, times);
         }},
        {"one_hot", [&] { one_hot(index, int64_t{1} << 62); }},
        {"one_hot", [&] { one_hot(index, 3, DType::bf16); }},
        {"clone", [&] { limited([&] { x.clone(); }); }},
        {"reshape", [&] { limited([&] { reshape(transpose(x), {6}); }); }},
        {"tensor", [&] { limited([&] { Tensor::ones({6}); }); }},
        {"exp", [&] { limited([&] { exp(x); }); }},
        {"topk", [&] { limited([&] { topk(x, 1); }); }},
        {"max_pool1d", [&] { max_pool1d(wide, 2); }},
        {"avg_pool1d", [&] { avg_pool1d(wide, 2); }},
    };
    for (const auto& [name, fault] : faults) {
        CAPTURE(name);
        CHECK(message_of(fault).starts_with("[" + name + "] "));
    }
    // What is called by itself afterwards bears its own.
    CHECK(message_of([&] { cholesky(square); }).starts_with("[cholesky] "));
    CHECK(message_of([&] { where(x, x, x); }).starts_with("[where] "));
}
