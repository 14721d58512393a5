// A recording as JSON (integers only, so no locale has a say) and as a table.
#include <unistd.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/error.h"
#include "engine/io/atomic_file.h"
#include "engine/trace_recording.h"

namespace mercer {
namespace {

using Kind = WatchedScope::Kind;

std::string full_name(const TraceEvent& e) {
    return e.kind == Kind::backward ? std::string(e.name) + " backward" : e.name;
}

// What is not UTF-8 becomes the replacement character.
std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Nanoseconds as microseconds, exactly.
std::string time_of(int64_t ns) {
    char text[40];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return text;
}

void put_event(std::string& out, const TraceEvent& e, const std::string& head, int64_t origin) {
    constexpr const char* categories[] = {"operation", "backward", "task", "user"};
    out += "{\"ph\":\"X\"," + head + ",\"tid\":" + std::to_string(e.thread) +
           ",\"ts\":" + time_of(std::max<int64_t>(0, e.start - origin)) +
           ",\"dur\":" + time_of(e.duration) + ",\"name\":" + quoted(full_name(e)) + ",\"cat\":\"" +
           categories[int(e.kind)] + "\",\"args\":{\"bytes\":" + std::to_string(e.bytes);
    if (e.operands) {
        std::string list;
        for (uint32_t k = 0; k < e.operands; ++k)
            list += (k ? " " : "") + to_string(e.tensors[k].dtype, e.tensors[k].shape);
        out += ",\"operands\":\"" + list + '"';
    }
    if (e.allocated)
        out += ",\"allocated\":\"" +
               to_string(e.tensors[e.operands].dtype, e.tensors[e.operands].shape) + '"';
    out += "}}";
}

/// Calls write(text) for the file's parts, one after the other.
template <class Write>
void put_chrome(const Trace::Recording& r, Write write) {
    std::vector<const TraceEvent*> order;
    uint32_t threads = 0;
    for (const TraceEvent& e : r.all()) {
        order.push_back(&e);
        threads = std::max(threads, e.thread + 1);
    }
    // Outer scopes before those within.
    std::ranges::stable_sort(order, {},
                             [](const TraceEvent* e) { return std::pair(e->start, -e->duration); });
    std::vector<const TraceEvent*> by_end = order;
    std::ranges::stable_sort(by_end, {},
                             [](const TraceEvent* e) { return e->start + e->duration; });

    const std::string head = "\"pid\":" + std::to_string(getpid());
    std::string text =
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":\"mercer\","
        "\"dropped_events\":" +
        std::to_string(r.dropped()) + "},\"traceEvents\":[\n{\"ph\":\"M\"," + head +
        ",\"name\":\"process_name\",\"args\":{\"name\":\"mercer\"}}";
    for (uint32_t t = 0; t < threads; ++t)
        text += ",\n{\"ph\":\"M\"," + head + ",\"tid\":" + std::to_string(t) +
                ",\"name\":\"thread_name\",\"args\":{\"name\":\"thread " + std::to_string(t) +
                "\"}}";
    const auto flush = [&] {
        write(text);
        text.clear();
    };
    for (const TraceEvent* e : order) {
        text += ",\n";
        put_event(text, *e, head, r.start);
        if (text.size() > (size_t{1} << 16)) flush();
    }
    size_t before = SIZE_MAX;
    for (const TraceEvent* e : by_end) {
        if (e->live == before) continue;
        before = e->live;
        text += ",\n{\"ph\":\"C\"," + head +
                ",\"ts\":" + time_of(std::max<int64_t>(0, e->start + e->duration - r.start)) +
                ",\"name\":\"memory\",\"args\":{\"live bytes\":" + std::to_string(e->live) + "}}";
        if (text.size() > (size_t{1} << 16)) flush();
    }
    text += "\n]}\n";
    flush();
}

}  // namespace

void Trace::write_chrome(std::ostream& out) const {
    put_chrome(stopped("write_chrome"), [&](const std::string& text) {
        out.write(text.data(), std::streamsize(text.size()));
    });
    if (!out) throw IoError("write_chrome", "the stream cannot be written");
}

void Trace::write_chrome(const std::filesystem::path& file) const {
    const Recording& r = stopped("write_chrome");
    io::AtomicFile whole("write_chrome", file);
    put_chrome(r, [&](const std::string& text) { whole.write(text); });
    whole.commit();
}

std::vector<TraceRow> Trace::summary() const {
    std::map<std::string, TraceRow> rows;
    for (const TraceEvent& e : stopped("summary").all()) {
        if (e.kind == Kind::task) continue;
        TraceRow& row = rows[full_name(e)];
        ++row.calls;
        row.total_ms += double(e.duration) * 1e-6;
        row.self_ms += double(e.self) * 1e-6;
        row.bytes += e.bytes;
    }
    std::vector<TraceRow> out;
    for (auto& [name, row] : rows) {
        row.name = name;
        out.push_back(std::move(row));
    }
    std::ranges::stable_sort(out, std::greater(), &TraceRow::total_ms);
    return out;
}

std::string Trace::table() const {
    char line[128];
    std::snprintf(line, sizeof line, "%10s %12s %12s %12s %14s  ", "calls", "total ms", "self ms",
                  "us per call", "bytes");
    std::string text = line + std::string("operation\n");
    for (const TraceRow& row : summary()) {
        std::snprintf(line, sizeof line, "%10llu %12.3f %12.3f %12.3f %14llu  ",
                      static_cast<unsigned long long>(row.calls), row.total_ms, row.self_ms,
                      row.total_ms * 1e3 / double(row.calls),
                      static_cast<unsigned long long>(row.bytes));
        text += line + row.name + '\n';
    }
    if (const size_t lost = dropped())
        text += std::to_string(lost) + " further events did not fit\n";
    return text;
}

}  // namespace mercer
