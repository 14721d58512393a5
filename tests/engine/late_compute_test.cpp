// Static objects of the host may compute in their destructors, which run when the main thread's own variables are gone.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "engine/functions.h"
#include "engine/scratch.h"

using namespace mercer;

namespace {

struct AtExit {
    ~AtExit() {
        const Tensor a = Tensor::ones({300, 300});
        for (int i = 0; i < 3; ++i)
            if (matmul(a, a).data<float>()[5] != 300) fail();
        Scratch outer;
        float* const first = outer.take<float>(1 << 20);
        first[0] = 7;
        {
            Scratch inner;
            inner.take<float>(1 << 21)[5] = 1;
        }
        if (first[0] != 7 || sort(Tensor::ones({100000})).first.data<float>()[99999] != 1) fail();
    }
    static void fail() {
        std::fprintf(stderr, "FAILED: computing in a static destructor\n");
        std::_Exit(1);
    }
} at_exit;

}  // namespace

TEST_CASE("scratch before the end") {
    Scratch scratch;
    scratch.take<float>(100)[0] = 1;
    CHECK(matmul(Tensor::ones({200, 200}), Tensor::ones({200, 200})).data<float>()[0] == 200);
}
