// The files of data/, as text inside the library; CMake writes the .cpp from them.
#pragma once

#include <string_view>

namespace mercer::builtin {

std::string_view co2_mauna_loa();
std::string_view airline_passengers();

}  // namespace mercer::builtin
