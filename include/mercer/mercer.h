// Everything: tensors, their operations, the tape, optimisers and attention.
#pragma once

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/map.h"
#include "autograd/optim/adam.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/isa.h"
#include "engine/log.h"
#include "engine/map.h"
#include "engine/memory.h"
#include "engine/ops/registry.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/tensor.h"
