// The profiler: what it records, the file it writes, and that it is harmless.
#include "engine/trace.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/random.h"

using namespace mercer;
using nlohmann::json;

namespace {

json written(const Trace& trace) {
    std::ostringstream out;
    trace.write_chrome(out);
    return json::parse(out.str());
}

std::vector<json> spans(const json& file, const std::string& category = "") {
    std::vector<json> out;
    for (const json& e : file.at("traceEvents"))
        if (e.at("ph") == "X" && (category.empty() || e.at("cat") == category)) out.push_back(e);
    return out;
}

const json& named(const std::vector<json>& events, const std::string& name) {
    for (const json& e : events)
        if (e.at("name") == name) return e;
    FAIL("no event is called " << name);
    return events.front();
}

// Times are in µs with three decimals: whole nanoseconds.
int64_t begin_of(const json& e) { return std::llround(e.at("ts").get<double>() * 1000); }
int64_t end_of(const json& e) {
    return begin_of(e) + std::llround(e.at("dur").get<double>() * 1000);
}
bool within(const json& inner, const json& outer) {
    return inner.at("tid") == outer.at("tid") && begin_of(inner) >= begin_of(outer) &&
           end_of(inner) <= end_of(outer);
}

}  // namespace

TEST_CASE("operations, scopes and derivatives are in the file, one within the other") {
    const Tensor w = randn(Key{1, 1}, {64, 32}), x = randn(Key{1, 2}, {8, 64});
    Trace trace;
    trace.start();
    {
        const TraceScope scope("step \"1\"\n\\ \xCE\xB5 \xFF");
        Tape tape;
        const Var v = tape.watch(w);
        tape.gradient(mean(square(softmax(matmul(Var(x), v), 1))), {v});
    }
    trace.stop();
    const json file = written(trace);
    CHECK(file.at("otherData").at("dropped_events") == 0);
    const std::vector<json> all = spans(file);
    CHECK(all.size() == trace.events());

    const json& step = named(all, "step \"1\"\n\\ \xCE\xB5 \xEF\xBF\xBD");
    CHECK(step.at("cat") == "user");
    const json& product = named(all, "matmul");
    CHECK(product.at("cat") == "operation");
    CHECK(product.at("args").at("operands") == "f32(8,64) f32(64,32)");
    CHECK(product.at("args").at("allocated") == "f32(8,32)");
    CHECK(product.at("args").at("bytes") == 8 * 32 * 4);
    const json& back = named(all, "softmax backward");
    CHECK(back.at("cat") == "backward");
    for (const char* name : {"matmul", "softmax", "square", "matmul backward", "softmax backward"})
        CHECK(within(named(all, name), step));
    // The derivative of softmax runs the operation's own backward kernel.
    const std::vector<json> operations = spans(file, "operation");
    CHECK(std::ranges::any_of(operations, [&](const json& e) {
        return e.at("name") == "softmax" && within(e, back) &&
               e.at("args").at("operands") == "f32(8,32) f32(8,32)";
    }));
    // Any two spans of a thread are apart or one holds the other.
    for (const json& a : all)
        for (const json& b : all)
            if (a.at("tid") == b.at("tid"))
                CHECK((end_of(a) <= begin_of(b) || end_of(b) <= begin_of(a) || within(a, b) ||
                       within(b, a)));
    int counters = 0;
    for (const json& e : file.at("traceEvents"))
        if (e.at("ph") == "C") {
            ++counters;
            CHECK(e.at("args").at("live bytes").is_number_unsigned());
        }
    CHECK(counters > 0);
}

TEST_CASE("durations are those of a clock outside, and the table adds them up") {
    Trace trace;
    const auto begin = std::chrono::steady_clock::now();
    trace.start();
    {
        const TraceScope outer("outer");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        for (int i = 0; i < 3; ++i) {
            const TraceScope inner("inner");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        const Tensor y = exp(Tensor::zeros({1000}));
    }
    trace.stop();
    const double took =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    std::map<std::string, TraceRow> rows;
    for (const TraceRow& row : trace.summary()) rows[row.name] = row;
    CHECK(rows.at("inner").calls == 3);
    CHECK(rows.at("inner").total_ms >= 15);
    CHECK(rows.at("outer").total_ms >= 35);
    CHECK(rows.at("outer").total_ms <= took);
    CHECK(rows.at("outer").self_ms >= 20);
    CHECK(rows.at("outer").self_ms ==
          doctest::Approx(rows.at("outer").total_ms - rows.at("inner").total_ms -
                          rows.at("exp").total_ms));
    CHECK(rows.at("exp").bytes == 4000);
    CHECK(rows.at("outer").bytes >= 8000);  // with the zeros
    CHECK(trace.summary().front().name == "outer");
    CHECK(trace.table().find("inner\n") != std::string::npos);
    const std::vector<json> all = spans(written(trace));
    CHECK(named(all, "outer").at("dur").get<double>() ==
          doctest::Approx(rows.at("outer").total_ms * 1000));
}

TEST_CASE("what is refused is not in the trace, the host's scope around it is") {
    const Tensor whole = Tensor::zeros({3}, DType::i64), x = Tensor::ones({2});
    Trace trace;
    trace.start();
    try {
        const TraceScope scope("epoch");
        CHECK_THROWS_AS(mean(whole), DTypeError);
        CHECK_THROWS_AS(one_hot(whole, -1), ValueError);
        CHECK_THROWS_AS(index_select(x, whole + 7), Error);
        add(x, x);
        sum(Tensor::zeros({2}, DType::boolean));
        FAIL("accepted");
    } catch (const DTypeError&) {
    }
    trace.stop();
    std::map<std::string, uint64_t> calls;
    for (const TraceRow& row : trace.summary()) calls[row.name] = row.calls;
    CHECK(calls == std::map<std::string, uint64_t>{{"epoch", 1}, {"add", 2}});
}

TEST_CASE("a full buffer drops and says so") {
    Trace trace(10);
    trace.start();
    const Tensor x = Tensor::zeros({8});
    for (int i = 0; i < 25; ++i) add(x, x);
    trace.stop();
    CHECK(trace.events() == 10);
    CHECK(trace.dropped() == 15);
    CHECK(written(trace).at("otherData").at("dropped_events") == 15);
    CHECK(spans(written(trace)).size() == 10);
    CHECK(trace.table().find("15 further events") != std::string::npos);
    trace.start();  // forgets
    trace.stop();
    CHECK(trace.events() == 0);
    CHECK(spans(written(trace)).empty());
}

TEST_CASE("pieces of a loop are tasks on their threads") {
    const int before = thread_count();
    set_thread_count(2);
    const Tensor x = randn(Key{1, 3}, {1 << 21});
    Trace trace;
    trace.start();
    const Tensor y = tanh(x);
    trace.stop();
    set_thread_count(before);
    const json file = written(trace);
    const json operation = named(spans(file, "operation"), "tanh");
    const std::vector<json> tasks = spans(file, "task");
    CHECK(tasks.size() >= 2);
    for (const json& t : tasks) {
        CHECK(t.at("name") == "tanh");
        CHECK(begin_of(t) >= begin_of(operation));
        CHECK(end_of(t) <= end_of(operation));
    }
    CHECK(trace.summary().size() == 1);
}

TEST_CASE("threads come and go while traces start and stop") {
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    const auto work = [&] {
        const Tensor x = Tensor::ones({16});
        while (!done) {
            const TraceScope scope("thread");
            if (sum(add(x, x)).item<float>() != 32) ++wrong;
        }
    };
    std::thread a(work), b(work);
    size_t recorded = 0;
    for (int round = 0; round < 200; ++round) {
        Trace trace(1000);
        trace.start();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        trace.stop();
        recorded += trace.events();
        if (round % 50 == 0) CHECK(spans(written(trace)).size() == trace.events());
    }
    done = true;
    a.join();
    b.join();
    CHECK(recorded > 0);
    CHECK(wrong == 0);
}

TEST_CASE("misuse is told") {
    Trace one, two;
    CHECK(one.events() == 0);
    one.start();
    CHECK(one.running());
    CHECK_THROWS_AS(two.start(), ValueError);
    CHECK_THROWS_AS(one.start(), ValueError);
    CHECK_THROWS_AS(one.table(), ValueError);
    Trace endless(size_t{1} << 63);
    CHECK_THROWS_AS(endless.start(), ValueError);
    two.stop();  // it is not running: nothing happens
    CHECK(one.running());
    one.stop();
    CHECK_THROWS_AS(endless.start(), MemoryError);
    CHECK(!one.running());
    const auto file = std::filesystem::temp_directory_path() /
                      ("mercer_trace_" + std::to_string(getpid()) + ".json");
    one.write_chrome(file);
    std::ifstream in(file);
    CHECK(json::parse(in).contains("traceEvents"));
    std::filesystem::remove(file);
    CHECK_THROWS_AS(one.write_chrome(std::filesystem::path("/nowhere/at/all.json")), IoError);
    // Not replaced: what is no regular file, here a folder.
    try {
        one.write_chrome(std::filesystem::temp_directory_path());
        FAIL("accepted");
    } catch (const IoError& error) {
        const std::string said = error.what();
        CHECK(said.find("[write_chrome] " + std::filesystem::temp_directory_path().string()) == 0);
    }
}
