// Whether the tests run under an emulator (some twenty times slower, and with a clock of its own).
#pragma once

#include <iostream>

/// Every test file is compiled with MERCER_EMULATED=0 or 1 (tests/CMakeLists.txt).
inline constexpr bool emulated = MERCER_EMULATED;

/// Under an emulator, says what is left out there; the summary of `./run test` repeats it.
inline void reduced_under_emulation(const char* what) {
    if (emulated) std::cout << "[reduced] under an emulator: " << what << "\n";
}
