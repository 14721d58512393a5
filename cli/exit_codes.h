// How the program ends.
#pragma once

namespace mercer::cli {

enum ExitCode {
    ok = 0,
    failure = 1,
    usage = 2,
    bad_input = 3,
    numerical_failure = 4,
    io_failure = 5
};

}  // namespace mercer::cli
