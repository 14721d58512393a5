// Compiled with several flags (tests/CMakeLists.txt).
#include "engine/map.h"

mercer::Tensor MERCER_TEST_MAP(const mercer::Tensor& x) {
    return mercer::map([](auto a) { return gelu(a); }, x);
}
