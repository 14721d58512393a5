#include "autograd/tape.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "autograd/functions.h"
#include "autograd/vjp.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/pointwise.h"

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
constexpr size_t max_saved_inputs = 28;  // the higher bits name results

}  // namespace

Tape::Tape() : slot_(take_slot(this)) {}
Tape::~Tape() { give_slot(slot_); }

void Tape::reset() {
    slot_->life.fetch_add(1);
    nodes_.clear();
    values_.clear();
    input_ids_.clear();
    saved_.clear();
    block_ = block_used_ = 0;
}

Var Tape::watch(const Tensor& value) {
    if (!is_floating(value.dtype()))
        throw DTypeError(
            "watch", "only f32 and f64 have gradients, got " + std::string(name_of(value.dtype())));
    values_.push_back({value.shape(), value.dtype()});
    return Var(value, slot_, uint32_t(values_.size() - 1));
}

uint32_t Tape::id_of(const char* operation, const Var& v) const {
    if (v.is_constant())
        throw TapeError(operation,
                        "a constant was given where a value on the tape is needed; use watch()");
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
    if (block_ < blocks_.size() && block_used_ + bytes > attrs_block) ++block_, block_used_ = 0;
    if (block_ == blocks_.size()) {
        blocks_.push_back(std::make_unique<char[]>(std::max(bytes, attrs_block)));
        block_used_ = 0;
    }
    void* p = blocks_[block_].get() + block_used_;
    block_used_ += bytes;
    return p;
}

Tape::Node& Tape::append_node(const Rule& rule, const void* attrs, VarRefs inputs, unsigned saved) {
    const Node node{&rule,
                    attrs,
                    uint32_t(input_ids_.size()),
                    uint32_t(inputs.size()),
                    uint32_t(saved_.size()),
                    saved,
                    uint32_t(values_.size()),
                    0,
                    false};
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Var& v = *inputs[i];
        input_ids_.push_back(v.is_constant() ? none : v.id_);
        if (i < max_saved_inputs && (saved & input_bit(int(i))))
            saved_.push_back({v.value_, v.defined() ? v.value_.version() : 0});
    }
    nodes_.push_back(node);
    return nodes_.back();
}

Var Tape::append_one(const Rule& rule, const void* attrs, VarRefs inputs, const Tensor& output,
                     unsigned saved) {
    append_node(rule, attrs, inputs, saved).outputs = 1;
    if (saved & output_bit) saved_.push_back({output, output.version()});
    values_.push_back({output.shape(), output.dtype()});
    return Var(output, slot_, uint32_t(values_.size() - 1));
}

std::vector<Var> Tape::append(const Rule& rule, const void* attrs, VarRefs inputs,
                              std::span<const Tensor> outputs, unsigned saved) {
    append_node(rule, attrs, inputs, saved).outputs = uint32_t(outputs.size());
    for (size_t k = outputs.size(); k-- > 0;)  // ascending bits
        if (saved & output_bit_of(int(k))) saved_.push_back({outputs[k], outputs[k].version()});
    std::vector<Var> out;
    for (const Tensor& t : outputs) {
        values_.push_back({t.shape(), t.dtype()});
        out.push_back(Var(t, slot_, uint32_t(values_.size() - 1)));
    }
    return out;
}

Tape::Operation Tape::operation(size_t index) const {
    const Node& node = nodes_[index];
    Operation out{node.rule->name, {}, {}, 0, 0, node.dropped};
    for (uint32_t i = 0; i < node.inputs; ++i)
        out.inputs.push_back(input_ids_[node.first_input + i]);
    for (uint32_t k = 0; k < node.outputs; ++k) out.outputs.push_back(node.output + k);
    for (int i = 0; i < std::popcount(node.saved); ++i) {
        const Tensor& value = saved_[node.first_saved + uint32_t(i)].value;
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

void accumulate(Tensor& a, Tensor b) {
    if (!a.defined())
        a = std::move(b);
    else if (a.storage().unique() && a.is_contiguous() && b.shape() == a.shape())
        add_in_place(a, b);
    else
        a = add(a, b);
}
void accumulate(Var& a, Var b) { a = a.defined() ? add(a, b) : std::move(b); }

template <class X>
std::vector<X> Tape::differentiate(const Var& loss, std::span<const Var> wrt, X cotangent,
                                   bool keep_saved) {
    const uint32_t from = id_of("gradient", loss);
    if (!cotangent.defined()) {
        if (loss.count() != 1)
            throw TapeError("gradient", "the loss has shape " + to_string(loss.shape()) +
                                            "; reduce it to one element or give a cotangent");
        cotangent = X(Tensor::ones(loss.shape(), loss.dtype()));
    } else if (!(cotangent.shape() == loss.shape()) || cotangent.dtype() != loss.dtype()) {
        throw ShapeError("gradient", "cotangent " + to_string(cotangent.shape()) +
                                         " does not match the loss " + to_string(loss.shape()));
    }

    Backward<X> pass{this, std::vector<X>(values_.size()), std::vector<char>(values_.size(), 0)};
    std::vector<uint32_t> targets;
    uint32_t first = from;
    for (const Var& v : wrt) {
        targets.push_back(id_of("gradient", v));
        pass.needed[targets.back()] = 1;
        first = std::min(first, targets.back());
    }
    const auto begins_after = [](uint32_t id, const Node& node) { return id < node.output; };
    const size_t begin = size_t(
        std::upper_bound(nodes_.begin(), nodes_.end(), first, begins_after) - nodes_.begin());
    const size_t end =
        size_t(std::upper_bound(nodes_.begin(), nodes_.end(), from, begins_after) - nodes_.begin());
    for (size_t n = begin; n < end; ++n) {
        const Node& node = nodes_[n];
        char needed = 0;
        for (uint32_t i = 0; i < node.inputs && !needed; ++i) {
            const uint32_t id = input_ids_[node.first_input + i];
            needed = id != none && pass.needed[id];
        }
        if (needed) std::fill_n(pass.needed.begin() + node.output, node.outputs, char{1});
    }

    std::vector<char> asked(values_.size(), 0);
    for (uint32_t id : targets) asked[id] = 1;
    if (pass.needed[from]) pass.cotangents[from] = std::move(cotangent);
    for (size_t n = end; n-- > begin;) {
        const uint32_t output = nodes_[n].output, outputs = nodes_[n].outputs;
        bool reached = false;
        for (uint32_t k = 0; k < outputs; ++k)
            reached = reached || (pass.needed[output + k] && pass.cotangents[output + k].defined());
        if (!reached) continue;
        if (nodes_[n].dropped)
            throw TapeError(
                nodes_[n].rule->name,
                "its saved values were dropped by an earlier pass; give that pass `retain`");
        {
            const WatchedScope scope(nodes_[n].rule->name, WatchedScope::Kind::backward);
            Vjp<X> context(pass, uint32_t(n));
            if constexpr (std::is_same_v<X, Tensor>)
                nodes_[n].rule->tensor(context);
            else
                nodes_[n].rule->var(context);
        }
        instruments::settle();
        for (uint32_t k = 0; k < outputs; ++k)
            if (!asked[output + k]) pass.cotangents[output + k] = X();
        if (!keep_saved) {
            Node& node = nodes_[n];
            node.dropped = true;
            for (int i = 0; i < std::popcount(node.saved); ++i)
                saved_[node.first_saved + uint32_t(i)].value = Tensor();
        }
    }

    std::vector<X> out;
    for (size_t i = 0; i < wrt.size(); ++i) {
        const X& g = pass.cotangents[targets[i]];
        out.push_back(g.defined() ? g : X(Tensor::zeros(wrt[i].shape(), wrt[i].dtype())));
    }
    return out;
}

std::vector<Tensor> Tape::gradient(const Var& loss, std::span<const Var> wrt,
                                   const GradientOptions& options) {
    return differentiate<Tensor>(loss, wrt, options.cotangent, options.retain);
}

std::vector<Var> Tape::gradient(const Var& loss, std::span<const Var> wrt,
                                const CreateGraph& options) {
    return differentiate<Var>(loss, wrt, options.cotangent, true);
}

}  // namespace mercer
