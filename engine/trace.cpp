#include "engine/trace.h"

#include <chrono>
#include <new>
#include <thread>

#include "engine/error.h"
#include "engine/memory.h"
#include "engine/trace_recording.h"

namespace mercer {
namespace {

// The running trace. A writer announces itself, looks whether the session it began in is still the
// one that runs, and only then touches the recording; stop() ends the session and waits until nobody
// is within: after that the recording is the owner's alone.
std::mutex control;
std::atomic<uint64_t> session{0};
std::atomic<int> writers{0};
Trace::Recording* recording = nullptr;  // valid while session != 0

class Writer {
public:
    explicit Writer(uint64_t began_in) {
        writers.fetch_add(1);
        open_ = began_in != 0 && session.load() == began_in;
    }
    ~Writer() { writers.fetch_sub(1); }
    Writer& operator=(Writer&&) = delete;  // neither copied nor moved
    explicit operator bool() const { return open_; }

private:
    bool open_;
};

uint32_t thread_number() {
    static std::atomic<uint32_t> next{0};
    thread_local const uint32_t number = next.fetch_add(1);
    return number;
}

}  // namespace

uint64_t instruments::trace_session() noexcept { return session.load(std::memory_order_relaxed); }

int64_t instruments::now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void instruments::trace(const OperationFrame& frame) noexcept {
    const int64_t duration = now() - frame.start;
    if (frame.outer) {
        frame.outer->inner += duration;
        frame.outer->bytes += frame.bytes;
    }
    // What failed is no work done; the host's own scopes stay.
    if (frame.kind != WatchedScope::Kind::user && std::uncaught_exceptions() != frame.exceptions)
        return;
    const Writer writer(frame.session);
    if (!writer) return;
    const size_t at = recording->next.fetch_add(1, std::memory_order_relaxed);
    if (at >= recording->capacity) return;
    TraceEvent& e = *new (&recording->events[at]) TraceEvent;
    e.name = frame.name, e.kind = frame.kind, e.thread = thread_number();
    e.start = frame.start, e.duration = duration, e.self = duration - frame.inner;
    e.bytes = frame.bytes, e.live = memory::live(), e.operands = 0;
    for (size_t k = 0; k < frame.operand_count; ++k)
        if (const Tensor& t = *frame.operands[k]; t.defined())
            e.tensors[e.operands++] = {t.shape(), t.dtype()};
    e.allocated = frame.allocated;
    if (e.allocated) e.tensors[e.operands] = {frame.shape, frame.dtype};
}

Trace::Trace(size_t capacity) : recording_(std::make_unique<Recording>(capacity)) {}
Trace::~Trace() { stop(); }

void Trace::start() {
    const std::lock_guard lock(control);
    if (session.load() != 0)
        throw ValueError("trace", "a trace is running in this process; stop() it first");
    static uint64_t sessions = 0;
    Recording& r = *recording_;
    r.next = 0;
    r.names.clear();
    r.events.reset(
        static_cast<TraceEvent*>(std::calloc(std::max<size_t>(1, r.capacity), sizeof(TraceEvent))));
    if (!r.events) throw MemoryError("trace", "no memory for its events; lower the capacity");
    r.session = ++sessions;
    r.start = instruments::now();
    recording = &r;
    ++instruments::active;
    session.store(r.session);
}

void Trace::stop() {
    const std::lock_guard lock(control);
    if (recording_->session == 0 || session.load() != recording_->session) return;
    // Not store(): under qemu a later load may overtake one, though both are sequentially consistent.
    session.exchange(0);
    while (writers.load() != 0) std::this_thread::yield();
    recording = nullptr;
    --instruments::active;
}

bool Trace::running() const {
    return recording_->session != 0 && session.load() == recording_->session;
}

const Trace::Recording& Trace::stopped(const char* operation) const {
    if (running()) throw ValueError(operation, "the trace is running; stop() it first");
    return *recording_;
}
size_t Trace::events() const { return stopped("events").kept(); }
size_t Trace::dropped() const { return stopped("dropped").dropped(); }

void TraceScope::enter(std::string_view name) {
    const uint64_t now_in = instruments::trace_session();
    const Writer writer(now_in);
    if (!writer) return;
    const char* kept;
    {
        const std::lock_guard lock(recording->names_mutex);
        auto at = recording->names.find(name);
        if (at == recording->names.end()) at = recording->names.emplace(name).first;
        kept = at->c_str();
    }
    operation_context.frame = frame_ = new OperationFrame{kept, WatchedScope::Kind::user, now_in};
}

void TraceScope::leave() noexcept {
    const std::unique_ptr<OperationFrame> frame(frame_);
    operation_context.frame = frame->outer;
    instruments::trace(*frame);
}

}  // namespace mercer
