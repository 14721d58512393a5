// The tape: operations in the order they were done, and the reverse walk that is the chain rule.
//
//   Tape tape;
//   Var w = tape.watch(weights);
//   Var loss = mean(square(matmul(x, w) - y));
//   auto [dw] = tape.gradient(loss, {w});
//
// One tape per thread; tapes on different threads may read the same tensors. Nodes keep the ids of
// their inputs and only those values that their derivative reads. A backward pass drops them as it
// goes, unless `retain` is given.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "autograd/hooks.h"

namespace mercer {

struct Rule;
template <class X>
class Vjp;
template <class X>
struct Backward;

struct GradientOptions {
    bool retain = false;  // keep saved values for further passes
    /// dL/dloss, one for each loss; an undefined one, or none at all, means 1 for a loss of one
    /// element.
    std::vector<Tensor> cotangents{};
    /// One for each wrt: the gradient is added to it, and into it where nobody else holds it. An
    /// undefined one counts as zero. Micro-batches: sums = gradient(loss, w, {.onto = move(sums)}).
    std::vector<Tensor> onto{};
};
inline const GradientOptions retain{.retain = true};

/// Asks gradient() for Vars recorded on the same tape, for derivatives of higher order.
struct CreateGraph {
    std::vector<Var> seeds{};  // the cotangents, as above; they may stand on the tape
};
inline const CreateGraph create_graph{};

/// What all nodes of one operation keep for backward.
struct SavedMemory {
    std::string operation;
    size_t nodes = 0, values = 0, bytes = 0;
};

class MERCER_API Tape {
public:
    Tape();
    ~Tape();
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    /// A leaf to differentiate with respect to. Floating dtypes only: DTypeError. ValueError if
    /// undefined.
    Var watch(const Tensor& value);

    /// dL/dwrt[i] for L = Σ_k ⟨cotangent_k, loss_k⟩; zeros where L does not depend on it. Only what
    /// lies between the losses and wrt is computed. Cost: that of the forward pass, about twice;
    /// memory of saved values is released on the way. Throws TapeError (foreign or dead Var, loss
    /// without a cotangent that is no scalar, values dropped by an earlier pass, an operation
    /// without derivative on the way), ShapeError and DTypeError (a cotangent or sum that does not
    /// fit) and InPlaceError (a saved value was changed).
    template <size_t n>
    std::array<Tensor, n> gradient(const Var& loss, const Var (&wrt)[n],
                                   GradientOptions options = {}) {
        return to_array<n>(gradient(one(loss), wrt, std::move(options)));
    }
    template <size_t m, size_t n>
    std::array<Tensor, n> gradient(const Var (&losses)[m], const Var (&wrt)[n],
                                   GradientOptions options = {}) {
        return to_array<n>(gradient(std::span<const Var>(losses), wrt, std::move(options)));
    }
    std::vector<Tensor> gradient(const Var& loss, std::span<const Var> wrt,
                                 GradientOptions options = {}) {
        return gradient(one(loss), wrt, std::move(options));
    }
    std::vector<Tensor> gradient(std::span<const Var> losses, std::span<const Var> wrt,
                                 GradientOptions options = {});

    /// The same, recorded: the results can be differentiated again. Keeps saved values.
    template <size_t n>
    std::array<Var, n> gradient(const Var& loss, const Var (&wrt)[n], CreateGraph options) {
        return to_array<n>(gradient(one(loss), wrt, std::move(options)));
    }
    template <size_t m, size_t n>
    std::array<Var, n> gradient(const Var (&losses)[m], const Var (&wrt)[n], CreateGraph options) {
        return to_array<n>(gradient(std::span<const Var>(losses), wrt, std::move(options)));
    }
    std::vector<Var> gradient(const Var& loss, std::span<const Var> wrt, CreateGraph options) {
        return gradient(one(loss), wrt, std::move(options));
    }
    std::vector<Var> gradient(std::span<const Var> losses, std::span<const Var> wrt,
                              CreateGraph options);

    /// Forgets everything; its Vars are dead from now on, its memory is reused. Hooks on values and
    /// saved tensors stay. TapeError from within a hook or a derivative of this tape.
    void reset();

    /// Hooks (hooks.h): on the gradient of v, which stands on this tape, in the passes to come; on
    /// every result recorded from now on; on every tensor kept for backward from now on. Each v may
    /// have several, called in order; the other two are replaced, and taken away by {}.
    void on_gradient(const Var& v, GradientHook hook);
    void on_value(ValueHook hook);
    void on_saved(SavedHook hook);

    size_t operations() const { return nodes_.size(); }
    /// Bytes of tensors kept for backward (each storage counted once for each time it is kept).
    size_t saved_bytes() const;
    /// The same by operation, the largest first.
    std::vector<SavedMemory> saved_by_operation() const;

    // What was recorded, for those who look at it (dot.h).
    static constexpr uint32_t constant = UINT32_MAX;  // the id of an input that stands on no tape
    struct Operation {
        const char* name;
        std::vector<uint32_t> inputs, outputs;  // ids of values
        size_t saved_values, saved_bytes;
        bool dropped;  // what it had saved
    };
    Operation operation(size_t index) const;
    size_t values() const { return values_.size(); }
    const Shape& shape_of(uint32_t id) const { return values_[id].shape; }
    DType dtype_of(uint32_t id) const { return values_[id].dtype; }

    /// Appends an operation: outputs[i] becomes a Var of this tape. For operations
    /// (autograd/record.h).
    std::vector<Var> append(const Rule& rule, const void* attrs, VarRefs inputs,
                            std::span<const Tensor> outputs, unsigned saved);
    Var append_one(const Rule& rule, const void* attrs, VarRefs inputs, const Tensor& output,
                   unsigned saved);
    /// The tape that the inputs stand on, nullptr for constants only. TapeError for two tapes or a
    /// dead one.
    static Tape* of(const char* operation, VarRefs inputs);
    /// Memory for attributes, which lives as long as the recording.
    void* keep(size_t bytes);
    /// The same for an object that has to be destroyed.
    void own(std::shared_ptr<const void> object) { owned_.push_back(std::move(object)); }
    /// Saves every input, whatever their number.
    static constexpr unsigned save_inputs = 1u << 27;
    /// The inputs that stand on a tape, as bits.
    static unsigned wanted(VarRefs inputs);

private:
    template <class X>
    friend class Vjp;
    template <class X>
    friend struct Backward;

    static constexpr uint32_t none = constant;
    struct Value {
        Shape shape;
        DType dtype;
    };
    struct Saved {
        Tensor value;
        uint32_t version = 0;
    };
    struct Node {
        const Rule* rule;
        const void* attrs;
        uint32_t first_input, inputs, first_saved, saved, output, outputs;
        uint32_t saved_count : 31, dropped : 1;
    };

    template <size_t n, class X>
    static std::array<X, n> to_array(std::vector<X> values) {
        std::array<X, n> out;
        for (size_t i = 0; i < n; ++i) out[i] = std::move(values[i]);
        return out;
    }
    static std::span<const Var> one(const Var& v) { return {&v, 1}; }
    struct AtWork {  // a pass or a hook is running
        Tape& tape;
        explicit AtWork(Tape& t) : tape(t) { ++tape.at_work_; }
        ~AtWork() { --tape.at_work_; }
    };
    uint32_t id_of(const char* operation, const Var& v) const;
    uint32_t append_node(const Rule& rule, const void* attrs, VarRefs inputs,
                         std::span<const Tensor> outputs, unsigned saved);
    void save(const Tensor& value);
    Var result(const Rule& rule, const Tensor& value, uint32_t id);
    Var hooked(const char* operation, Var result);
    bool pack(const Tensor& value);
    Tensor unpack(const char* operation, uint32_t place) const;
    void drop(Node& node);
    /// The index of the first node whose results come after value `id`.
    size_t first_after(uint32_t id) const;
    bool is_leaf(uint32_t id) const;
    template <class X>
    std::vector<X> differentiate(std::span<const Var> losses, std::span<const Var> wrt,
                                 std::vector<X> cotangents, std::vector<X> onto, bool keep_saved);
    template <class X>
    void seed(Backward<X>& pass, std::span<const Var> losses, std::vector<X>& cotangents) const;
    template <class X>
    void walk(Backward<X>& pass, size_t begin, size_t end, bool keep_saved);
    template <class X>
    void call_hooks(Backward<X>& pass, uint32_t id) const;
    [[noreturn]] static void refuse_dropped(const Node& node);
    void refuse_dropped(std::span<const char> needed, uint32_t base, std::span<const Var> losses,
                        size_t begin, size_t end) const;

    TapeSlot* slot_;
    std::vector<Node> nodes_;
    std::vector<Value> values_;
    std::vector<uint32_t> input_ids_;
    std::vector<Saved> saved_;
    std::vector<std::vector<char>> blocks_;
    size_t block_ = 0, block_used_ = 0;
    int at_work_ = 0;
    std::vector<std::shared_ptr<const void>> owned_;
    std::unique_ptr<Hooks> hooks_;  // none as long as nobody asked for one
};

}  // namespace mercer
