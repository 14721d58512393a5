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
#include <span>
#include <string>
#include <vector>

#include "autograd/var.h"

namespace mercer {

struct Rule;
template <class X>
class Vjp;
template <class X>
struct Backward;

struct GradientOptions {
    bool retain = false;  // keep saved values for further passes
    Tensor cotangent;     // dL/dloss; needed unless loss has one element
};
inline const GradientOptions retain{.retain = true, .cotangent = {}};

/// Asks gradient() for Vars recorded on the same tape, for derivatives of higher order.
struct CreateGraph {
    Var cotangent;  // as above; may itself stand on the tape
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

    /// A leaf to differentiate with respect to. Floating dtypes only: DTypeError.
    Var watch(const Tensor& value);

    /// dL/dwrt[i] for L = Σ cotangent·loss; zeros where L does not depend on it. Cost: that of the
    /// forward pass, about twice; memory of saved values is released on the way. Throws TapeError
    /// (foreign or dead Var, loss without a cotangent that is no scalar, values dropped by an
    /// earlier pass, an operation without derivative on the way) and InPlaceError (a saved value
    /// was changed).
    template <size_t n>
    std::array<Tensor, n> gradient(const Var& loss, const Var (&wrt)[n],
                                   const GradientOptions& options = {}) {
        return to_array<n>(gradient(loss, std::span<const Var>(wrt), options));
    }
    std::vector<Tensor> gradient(const Var& loss, std::span<const Var> wrt,
                                 const GradientOptions& options = {});

    /// The same, recorded: the results can be differentiated again. Keeps saved values.
    template <size_t n>
    std::array<Var, n> gradient(const Var& loss, const Var (&wrt)[n], const CreateGraph& options) {
        return to_array<n>(gradient(loss, std::span<const Var>(wrt), options));
    }
    std::vector<Var> gradient(const Var& loss, std::span<const Var> wrt,
                              const CreateGraph& options);

    /// Forgets everything; its Vars are dead from now on, its memory is reused.
    void reset();

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
        bool dropped;
    };

    template <size_t n, class X>
    static std::array<X, n> to_array(std::vector<X> values) {
        std::array<X, n> out;
        for (size_t i = 0; i < n; ++i) out[i] = std::move(values[i]);
        return out;
    }
    uint32_t id_of(const char* operation, const Var& v) const;
    Node& append_node(const Rule& rule, const void* attrs, VarRefs inputs, unsigned saved);
    template <class X>
    std::vector<X> differentiate(const Var& loss, std::span<const Var> wrt, X cotangent,
                                 bool keep_saved);

    TapeSlot* slot_;
    std::vector<Node> nodes_;
    std::vector<Value> values_;
    std::vector<uint32_t> input_ids_;
    std::vector<Saved> saved_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    size_t block_ = 0, block_used_ = 0;
};

}  // namespace mercer
