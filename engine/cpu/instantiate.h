// Function templates that other files call, made where they are defined.
#pragma once

/// `function` for both floating element types.
#define MERCER_F32_F64(function)                        \
    template decltype(function<float>) function<float>; \
    template decltype(function<double>) function<double>;
