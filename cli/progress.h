// Progress on stderr: one line that is rewritten where that is a terminal, else a plain line every
// few seconds.
#pragma once

#include <chrono>
#include <string>

namespace mercer::cli {

class Progress {
public:
    /// Says nothing at all when quiet.
    explicit Progress(bool quiet);
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` in [0, 1]; calls that come too soon after the last are dropped.
    void show(const std::string& what, double done);
    /// Takes the rewritten line away.
    void clear();

private:
    using Clock = std::chrono::steady_clock;
    bool quiet_, rewrite_, shown_ = false;
    Clock::time_point last_;
};

}  // namespace mercer::cli
