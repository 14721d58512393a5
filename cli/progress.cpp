#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mercer::cli {
namespace {

// NO_COLOR asks for no escape sequences; rewriting a line needs one.
bool can_rewrite() {
    const char* term = std::getenv("TERM");
    const char* no_color = std::getenv("NO_COLOR");
    return isatty(STDERR_FILENO) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0 &&
           (no_color == nullptr || *no_color == '\0');
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), rewrite_(can_rewrite()), last_(Clock::now()) {}

void Progress::show(const std::string& what, double done) {
    using std::chrono::milliseconds;
    const auto now = Clock::now();
    if (quiet_ || now - last_ < (rewrite_ ? milliseconds(100) : milliseconds(4000))) return;
    last_ = now;
    const int percent = int(100 * done);
    if (rewrite_)
        std::fprintf(stderr, "\r\x1b[K%3d %%  %s", percent, what.c_str());
    else
        std::fprintf(stderr, "%3d %%  %s\n", percent, what.c_str());
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (rewrite_ && shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

}  // namespace mercer::cli
