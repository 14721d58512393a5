// `mercer info`: what this build is and what it found on the machine.
#pragma once

namespace mercer::cli {

void print_info();

}  // namespace mercer::cli
