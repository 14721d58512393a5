// Writing whole or not at all: modes, links, failures, and a process that is killed while it writes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "engine/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file.h"
#include "engine/io/npy.h"
#include "tests/support/files.h"

using namespace mercer;
using namespace mercer::io;
using namespace mercer::test;

namespace {

void replace(const std::filesystem::path& path, const std::string& text) {
    AtomicFile file("test", path);
    file.write(text);
    file.commit();
}

unsigned mode_of(const std::filesystem::path& path) {
    struct stat status {};
    CHECK(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

// The exit status of a child that runs `body`, or the negative signal that ended it.
template <class F>
int in_child(F&& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(body());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("bytes arrive in order, whatever the sizes of the writes") {
    const TemporaryDirectory directory;
    std::string expected;
    {
        AtomicFile file("test", directory / "a");
        for (size_t n : {1, 0, 100, 65535, 1, 65536, 7, 200000, 3}) {
            const std::string part(n, char('a' + n % 26));
            file.write(part);
            expected += part;
        }
        file.commit();
    }
    CHECK(file_bytes(directory / "a") == expected);
    replace(directory / "empty", "");
    CHECK(file_bytes(directory / "empty").empty());
    CHECK(directory.files() == 2);
}

TEST_CASE("without commit nothing happens") {
    const TemporaryDirectory directory;
    put_file(directory / "a", "old");
    {
        AtomicFile file("test", directory / "a");
        file.write("new");
        CHECK(directory.files() == 2);
        CHECK(file_bytes(directory / "a") == "old");
    }
    CHECK(file_bytes(directory / "a") == "old");
    CHECK(directory.files() == 1);
}

TEST_CASE("a new file has the umask's mode, a replaced one keeps its own") {
    const TemporaryDirectory directory;
    const mode_t umask = ::umask(027);
    replace(directory / "new", "x");
    ::umask(umask);
    CHECK(mode_of(directory / "new") == 0640);
    REQUIRE(::chmod((directory / "new").c_str(), 0604) == 0);
    replace(directory / "new", "y");
    CHECK(mode_of(directory / "new") == 0604);
    CHECK(file_bytes(directory / "new") == "y");
}

TEST_CASE("a link stays a link, a relative path and a long name work") {
    const TemporaryDirectory directory;
    put_file(directory / "file", "old");
    std::filesystem::create_symlink("file", directory / "link");
    replace(directory / "link", "new");
    CHECK(std::filesystem::is_symlink(directory / "link"));
    CHECK(file_bytes(directory / "file") == "new");
    std::filesystem::create_symlink("nowhere", directory / "broken");
    has(message_of<IoError>([&] { replace(directory / "broken", "x"); }), "a broken link");

    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    replace("relative", "here");
    std::filesystem::current_path(before);
    CHECK(file_bytes(directory / "relative") == "here");

    replace(directory / std::string(255, 'n'), "long");
    CHECK(file_bytes(directory / std::string(255, 'n')) == "long");
}

TEST_CASE("refused: no directory, a directory, a device, a pipe") {
    const TemporaryDirectory directory;
    has(message_of<IoError>([&] { replace(directory / "no/file", "x"); }),
        "[test] " + (directory / "no/file").string() +
            ": cannot be created: No such file or directory; check the path");
    has(message_of<IoError>([&] { replace(directory.path(), "x"); }), "is not a regular file");
    has(message_of<IoError>([&] { replace("/dev/null", "x"); }), "is not a regular file");
    put_file(directory / "plain", "");
    has(message_of<IoError>([&] { replace(directory / "plain/file", "x"); }), "Not a directory");
    REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
    has(message_of<IoError>([&] { (void)File::open("test", directory / "pipe"); }),
        "is not a regular file");
}

TEST_CASE("no permission: target untouched, no temporary left") {
    const TemporaryDirectory directory;
    put_file(directory / "a", "old");
    const int status = in_child([&] {
        if (::geteuid() == 0 && (::chown(directory.path().c_str(), 65534, 65534) != 0 ||
                                 ::setgid(65534) != 0 || ::setuid(65534) != 0))
            return 9;
        const auto fails = [&](const char* why) {
            const auto message = message_of<IoError>([&] { replace(directory / "a", "new"); });
            return message.find(why) != std::string::npos &&
                   message.find("check the permissions") != std::string::npos;
        };
        ::chmod(directory.path().c_str(), 0755);
        ::chmod((directory / "a").c_str(), 0444);
        if (!fails("must not be overwritten")) return 1;
        std::filesystem::remove(directory / "a");
        put_file(directory / "a", "old");
        ::chmod(directory.path().c_str(), 0555);
        if (!fails("cannot be created")) return 2;
        ::chmod(directory.path().c_str(), 0755);
        return 0;
    });
    if (status == 9)
        std::cout << "[reduced] cannot become another user here\n";
    else
        CHECK(status == 0);
    CHECK(file_bytes(directory / "a") == "old");
    CHECK(directory.files() == 1);
}

TEST_CASE("the disk is full: target untouched, no temporary left") {
    const TemporaryDirectory directory;
    put_file(directory / "a", "old");
    const int status = in_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);  // then write() fails as it does on a full disk
        const rlimit limit{100'000, 100'000};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 9;
        for (size_t part : {1000, 150'000}) {
            const auto message = message_of<IoError>([&] {
                AtomicFile file("test", directory / "a");
                for (size_t done = 0; done < 300'000; done += part)
                    file.write(std::string(part, 'x'));
                file.commit();
            });
            if (message.find("writing failed") == std::string::npos) return 1;
        }
        return 0;
    });
    CHECK(status == 0);
    CHECK(file_bytes(directory / "a") == "old");
    CHECK(directory.files() == 1);
}

TEST_CASE("killed at any moment: the old file or the new one, whole") {
    const TemporaryDirectory directory;
    const auto path = directory / "a.npy";
    const auto version = [](int v) { return Tensor::full({50'000}, v, DType::i32); };
    write_npy(path, version(0));
    int last = 0, kills = 0;
    for (int round = 0; round < 40; ++round) {
        std::fflush(nullptr);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (int v = last + 1;; ++v) write_npy(path, version(v));
        }
        ::usleep(useconds_t(1000 + 733 * round % 9000));
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        kills += WIFSIGNALED(status);
        const Tensor now = read_npy(path);
        const int v = now.data<int32_t>()[0];
        CHECK(same(now, version(v)));
        CHECK(v >= last);
        last = v;
    }
    CHECK(kills == 40);
    CHECK(last > 0);
    MESSAGE(last, " versions written, ", kills, " kills, ", directory.files() - 1,
            " temporaries left behind");
}
