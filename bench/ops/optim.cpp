// A step of each optimiser on ten million parameters, and on as many in a thousand tensors. Bytes:
// what the formula reads and writes of each element: its parameter, gradient and memory.
#include <memory>

#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

constexpr int64_t all = 10'000'000;

struct Setting {
    std::vector<Tensor> parameters, gradients;
    std::vector<Tensor*> addresses;
    Setting(int64_t tensors, DType dtype) {
        for (int64_t i = 0; i < tensors; ++i) {
            parameters.push_back(randn(Key{1, uint64_t(2 * i)}, {all / tensors}, dtype));
            gradients.push_back(randn(Key{1, uint64_t(2 * i + 1)}, {all / tensors}, dtype));
        }
        for (Tensor& p : parameters) addresses.push_back(&p);
    }
};

/// `accesses`: reads and writes of each element.
template <class Kind, class Options>
void add(const std::string& name, const Options& options, int accesses, int64_t tensors = 1) {
    const std::string size = tensors == 1 ? "/10M" : "/10M in " + std::to_string(tensors);
    add_op(name + size, {.bytes = elements(double(accesses) * all)}, [=](DType dtype) {
        return [s = std::make_shared<Setting>(tensors, dtype),
                optimizer = std::make_shared<Kind>(options)] {
            optimizer->step(s->addresses, s->gradients);
        };
    });
}

}  // namespace

void add_ops_optim() {
    add<Sgd>("sgd", SgdOptions{}, 3);
    add<Sgd>("sgd momentum", SgdOptions{.momentum = 0.9}, 5);
    add<Sgd>("sgd nesterov", SgdOptions{.momentum = 0.9, .nesterov = true}, 5);
    add<Adam>("adam", AdamOptions{}, 7);
    add<Adam>("adam", AdamOptions{}, 7, 1000);
    add<AdamW>("adamw", AdamWOptions{}, 7);
    add<RAdam>("radam", RAdamOptions{}, 7);
    add<Adagrad>("adagrad", AdagradOptions{}, 5);
    add<RmsProp>("rmsprop", RmsPropOptions{}, 5);
    add<RmsProp>("rmsprop centered momentum", RmsPropOptions{.momentum = 0.9, .centered = true}, 9);
}

}  // namespace mercer::bench
