// Every optimiser of first order, with options that reach all of its formula.
#pragma once

#include <memory>
#include <vector>

#include "autograd/optim/adagrad.h"
#include "autograd/optim/adam.h"
#include "autograd/optim/rmsprop.h"
#include "autograd/optim/sgd.h"

namespace every {

using namespace mercer;

struct Row {
    const char* name;
    std::unique_ptr<Optimizer> (*make)();
};

template <class Kind, auto options>
std::unique_ptr<Optimizer> make() {
    return std::make_unique<Kind>(options());
}

inline const std::vector<Row>& row() {
    static const std::vector<Row> rows{
        {"sgd", make<Sgd, [] { return SgdOptions{.weight_decay = 0.1}; }>},
        {"momentum", make<Sgd, [] { return SgdOptions{.momentum = 0.9, .dampening = 0.2}; }>},
        {"nesterov", make<Sgd, [] { return SgdOptions{.momentum = 0.9, .nesterov = true}; }>},
        {"adam", make<Adam, [] { return AdamOptions{.weight_decay = 0.01}; }>},
        {"adamw", make<AdamW, [] { return AdamWOptions{}; }>},
        {"radam", make<RAdam, [] { return RAdamOptions{}; }>},  // adaptive from the sixth update
        {"adagrad", make<Adagrad, [] { return AdagradOptions{.lr_decay = 0.1}; }>},
        {"rmsprop", make<RmsProp, [] { return RmsPropOptions{}; }>},
        {"rmsprop momentum", make<RmsProp, [] { return RmsPropOptions{.momentum = 0.5}; }>},
        {"rmsprop centered", make<RmsProp, [] { return RmsPropOptions{.centered = true}; }>},
        {"rmsprop centered momentum",
         make<RmsProp, [] { return RmsPropOptions{.momentum = 0.5, .centered = true}; }>},
    };
    return rows;
}

}  // namespace every
