#include "autograd/tape.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "autograd/vjp.h"

namespace mercer {
namespace {

std::mutex slots_mutex;
TapeSlot* free_slots = nullptr;

TapeSlot* take_slot(Tape* tape) {
    const std::lock_guard lock(slots_mutex);
    TapeSlot* slot = free_slots ? free_slots : new TapeSlot;
    free_slots = slot->next_free;
    slot->tape = tape;
    slot->life.fetch_add(1);
    return slot;
}

void give_slot(TapeSlot* slot) {
    const std::lock_guard lock(slots_mutex);
    slot->life.fetch_add(1);
    slot->tape = nullptr;
    slot->next_free = free_slots;
    free_slots = slot;
}

constexpr size_t attrs_block = 1 << 14;
constexpr size_t max_saved_inputs = 27;  // the higher bits mean all inputs, and results

}  // namespace

Tape::Tape() : slot_(take_slot(this)) {}
Tape::~Tape() { give_slot(slot_); }

void Tape::reset() {
    if (at_work_)
        throw TapeError("reset",
                        "a hook or a derivative would take its own tape away; reset it "
                        "after the pass");
    slot_->life.fetch_add(1);
    nodes_.clear();
    values_.clear();
    input_ids_.clear();
    saved_.clear();
    block_ = block_used_ = 0;
    owned_.clear();
    if (hooks_) {
        hooks_->gradients.clear();
        hooks_->packed.clear();
    }
}

Var Tape::watch(const Tensor& value) {
    value.require_defined("watch");
    if (!is_floating(value.dtype()))
        throw DTypeError("watch", "only f32 and f64 have gradients, got ", value.dtype());
    values_.push_back({value.shape(), value.dtype()});
    return Var(value, slot_, uint32_t(values_.size() - 1));
}

uint32_t Tape::id_of(const char* operation, const Var& v) const {
    if (v.is_constant())
        throw TapeError(operation,
                        "a constant was given where a value on the tape is needed: it was not "
                        "watched, or was computed from nothing watched, or by detach() or an "
                        "operation without derivative (a comparison, a count, argmax, a cast to "
                        "integers)");
    if (v.life_ != v.slot_->life.load(std::memory_order_relaxed))
        throw TapeError(operation, "a value outlived its tape, which was reset or destroyed");
    if (v.slot_ != slot_) throw TapeError(operation, "a value belongs to another tape");
    return v.id_;
}

Tape* Tape::of(const char* operation, VarRefs inputs) {
    TapeSlot* slot = nullptr;
    for (const Var* input : inputs) {
        const Var& v = *input;
        if (v.is_constant()) continue;
        if (v.life_ != v.slot_->life.load(std::memory_order_relaxed))
            throw TapeError(operation,
                            "an operand outlived its tape, which was reset or destroyed");
        if (slot && slot != v.slot_) throw TapeError(operation, "operands belong to two tapes");
        slot = v.slot_;
    }
    return slot ? slot->tape : nullptr;
}

unsigned Tape::wanted(VarRefs inputs) {
    unsigned bits = 0;
    for (size_t i = 0; i < inputs.size() && i < max_saved_inputs; ++i)
        if (!inputs[i]->is_constant()) bits |= 1u << i;
    return bits;
}

void* Tape::keep(size_t bytes) {
    bytes = (bytes + 15) & ~size_t{15};
    while (block_ < blocks_.size() && block_used_ + bytes > blocks_[block_].size())
        ++block_, block_used_ = 0;
    if (block_ == blocks_.size()) blocks_.emplace_back(std::max(bytes, attrs_block));
    void* p = blocks_[block_].data() + block_used_;
    block_used_ += bytes;
    return p;
}

void Tape::save(const Tensor& value) {
    if (hooks_ && pack(value))
        saved_.push_back({});
    else
        saved_.push_back({value, value.defined() ? value.version() : 0});
}

// What throws (a hook, or memory that is not there) leaves the tape as it was.
uint32_t Tape::append_node(const Rule& rule, const void* attrs, VarRefs inputs,
                           std::span<const Tensor> outputs, unsigned saved) {
    const uint32_t first_input = uint32_t(input_ids_.size()), first_saved = uint32_t(saved_.size()),
                   first = uint32_t(values_.size());
    if (hooks_ && hooks_->in_saved_hook)
        throw TapeError(rule.name,
                        "recorded by the hook on saved values of the same tape; compute "
                        "with tensors there");
    try {
        for (size_t i = 0; i < inputs.size(); ++i) {
            const Var& v = *inputs[i];
            input_ids_.push_back(v.is_constant() ? none : v.id_);
            if ((saved & save_inputs) || (i < max_saved_inputs && (saved & input_bit(int(i)))))
                save(v.value_);
        }
        for (size_t k = outputs.size(); k-- > 0;)  // ascending bits
            if (saved & output_bit_of(int(k))) save(outputs[k]);
        for (const Tensor& t : outputs) values_.push_back({t.shape(), gradient_dtype(t.dtype())});
        nodes_.push_back({&rule, attrs, first_input, uint32_t(inputs.size()), first_saved, saved,
                          first, uint32_t(outputs.size()), uint32_t(saved_.size()) - first_saved,
                          0});
    } catch (...) {
        if (hooks_)
            std::erase_if(hooks_->packed,
                          [&](const auto& packed) { return packed.first >= first_saved; });
        input_ids_.resize(first_input);
        saved_.resize(first_saved);
        values_.resize(first);
        throw;
    }
    return first;
}

Var Tape::result(const Rule& rule, const Tensor& value, uint32_t id) {
    if (hooks_) return hooked(rule.name, Var(value, slot_, id));
    return Var(value, slot_, id);
}

Var Tape::append_one(const Rule& rule, const void* attrs, VarRefs inputs, const Tensor& output,
                     unsigned saved) {
    return result(rule, output, append_node(rule, attrs, inputs, {&output, 1}, saved));
}

std::vector<Var> Tape::append(const Rule& rule, const void* attrs, VarRefs inputs,
                              std::span<const Tensor> outputs, unsigned saved) {
    const uint32_t first = append_node(rule, attrs, inputs, outputs, saved);
    std::vector<Var> out;
    for (size_t k = 0; k < outputs.size(); ++k)
        out.push_back(result(rule, outputs[k], first + uint32_t(k)));
    return out;
}

void Tape::drop(Node& node) {
    node.dropped = 1;
    for (uint32_t i = 0; i < node.saved_count; ++i) {
        saved_[node.first_saved + i].value = Tensor();
        if (hooks_) hooks_->packed.erase(node.first_saved + i);
    }
}

size_t Tape::first_after(uint32_t id) const {
    const auto begins_after = [](uint32_t value, const Node& node) { return value < node.output; };
    return size_t(std::upper_bound(nodes_.begin(), nodes_.end(), id, begins_after) -
                  nodes_.begin());
}

bool Tape::is_leaf(uint32_t id) const {
    const size_t next = first_after(id);
    return next == 0 || id >= nodes_[next - 1].output + nodes_[next - 1].outputs;
}

Tape::Operation Tape::operation(size_t index) const {
    const Node& node = nodes_[index];
    Operation out{node.rule->name, {}, {}, 0, 0, bool(node.dropped)};
    for (uint32_t i = 0; i < node.inputs; ++i)
        out.inputs.push_back(input_ids_[node.first_input + i]);
    for (uint32_t k = 0; k < node.outputs; ++k) out.outputs.push_back(node.output + k);
    for (uint32_t i = 0; i < node.saved_count; ++i) {
        const Tensor& value = saved_[node.first_saved + i].value;
        if (!value.defined()) continue;
        ++out.saved_values;
        out.saved_bytes += size_t(value.count()) * size_of(value.dtype());
    }
    return out;
}

std::vector<SavedMemory> Tape::saved_by_operation() const {
    std::map<std::string_view, SavedMemory> rows;
    for (size_t i = 0; i < nodes_.size(); ++i) {
        const Operation o = operation(i);
        SavedMemory& row = rows[o.name];
        row.operation = o.name;
        ++row.nodes;
        row.values += o.saved_values;
        row.bytes += o.saved_bytes;
    }
    std::vector<SavedMemory> out;
    for (auto& [name, row] : rows) out.push_back(std::move(row));
    std::ranges::stable_sort(out, std::greater(), &SavedMemory::bytes);
    return out;
}

size_t Tape::saved_bytes() const {
    size_t bytes = 0;
    for (const Saved& s : saved_)
        if (s.value.defined()) bytes += size_t(s.value.count()) * size_of(s.value.dtype());
    return bytes;
}

}  // namespace mercer
