#include "cli/eval.h"

#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "cli/exit_codes.h"
#include "cli/files.h"
#include "cli/ops.h"
#include "cli/smoother_spec.h"
#include "engine/error.h"
#include "engine/io/safetensors.h"
#include "engine/operation.h"
#include "models/data/text.h"

namespace mercer::cli {
namespace {

// What an entry of the specification asks for, on one tape.
class Evaluation {
public:
    Evaluation(const Json& entry, const io::Safetensors& in) : entry_(entry), in_(in) {
        static constexpr std::string_view known[] = {"op",         "inputs",    "attrs", "outputs",
                                                     "cotangents", "gradients", "dtype"};
        if (!entry.is_object()) refuse("entry", "must be an object");
        for (const auto& [key, value] : entry.items())
            if (std::find(std::begin(known), std::end(known), key) == std::end(known))
                refuse(key,
                       "is no field; there are op, inputs, attrs, outputs, cotangents, gradients, "
                       "dtype");
    }

    io::TensorMap run() {
        const auto op = entry_.find("op");
        if (op == entry_.end() || !op->is_string())
            refuse("op", "must name an operation; `mercer ops` lists them");
        const Callable& function = find_operation(op->get_ref<const std::string&>());
        if (object(entry_, "outputs").empty() && object(entry_, "gradients").empty())
            refuse("outputs", "must name results to keep, or gradients do; there would be none");
        read_dtype();
        read_inputs(function);
        const std::vector<Var> results = function.invoke ? call_plain(function) : smooth(function);
        io::TensorMap out;
        write_results(function, results, out);
        write_gradients(function, results, out);
        return out;
    }

private:
    std::vector<Var> call_plain(const Callable& function) const {
        Attributes attributes;
        for (const auto& [name, value] : object(entry_, "attrs").items())
            attributes[name] = attribute("attrs." + name, value, attribute_type(function, name));
        return call(function, operands_, attributes);
    }

    // Its attributes are parts, which name inputs.
    std::vector<Var> smooth(const Callable& function) {
        const auto q = operands_.find("q");
        const bool typed = q != operands_.end() && q->second.size() == 1;
        std::set<std::string, std::less<>> used{"q", "k"};
        if (function.info->name == "attend") used.insert("v");
        SmootherOptions options = read_smoother(
            function, object(entry_, "attrs"), typed ? q->second[0].dtype() : DType::f64,
            [&](const std::string& field, const std::string& name) {
                const auto at = operands_.find(name);
                if (at == operands_.end()) refuse(field, "there is no input '" + name + "'");
                if (at->second.size() != 1) refuse(field, "the input '" + name + "' is a list");
                used.insert(name);
                return at->second.front();
            });
        for (const auto& [name, list] : operands_)
            if (!used.contains(name)) refuse("inputs." + name, "no part of attrs uses it");
        options.report = &report_;
        std::vector<bool> wanted;
        for (const std::string& result : function.results)
            wanted.push_back(object(entry_, "outputs").contains(result) ||
                             object(entry_, "cotangents").contains(result));
        std::vector<Var> results =
            description::call_smoother(function, operands_, std::move(options), wanted);
        return results;
    }

    void read_dtype() {
        const auto at = entry_.find("dtype");
        if (at == entry_.end()) return;
        if (*at == "f32")
            dtype_ = DType::f32;
        else if (*at == "f64")
            dtype_ = DType::f64;
        else
            refuse("dtype", "must be \"f32\" or \"f64\"");
    }

    // In `dtype`, if one is asked for.
    Tensor read(const std::string& field, const Json& value, DType dtype) const {
        const std::string& name = text(field, value);
        if (!in_.contains(name)) refuse(field, "the input file has no tensor '" + name + "'");
        const Tensor x = in_.read(name);
        return dtype_ && is_floating(gradient_dtype(x.dtype())) ? cast(x, dtype) : x;
    }

    void read_inputs(const Callable& function) {
        const Json& gradients = object(entry_, "gradients");
        for (const auto& [name, value] : object(entry_, "inputs").items()) {
            const std::string field = "inputs." + name;
            std::vector<Var>& list = operands_[name];
            const bool watched = gradients.contains(name) && function.differentiable;
            const auto add = [&](const Json& item) {
                const Tensor x = read(field, item, dtype_.value_or(DType::f32));
                if (watched && !is_floating(x.dtype()))
                    refuse("gradients." + field.substr(field.find('.') + 1),
                           "is " + std::string(name_of(x.dtype())) + ", which has no gradient");
                list.push_back(watched ? tape_.watch(x) : Var(x));
            };
            if (value.is_array())
                for (const Json& item : value) add(item);
            else
                add(value);
        }
    }

    static size_t result_place(const Callable& function, const std::string& field,
                               const std::string& name, size_t n) {
        for (size_t k = 0; k < function.results.size() && (k < n || function.result_list); ++k)
            if (function.results[k] == name) return k;
        std::string names;
        for (const std::string& r : function.results) names += (names.empty() ? "" : ", ") + r;
        refuse(field, "'" + std::string(function.info->name) + "' has no result '" + name +
                          "'; it has " + names);
    }

    static void put(io::TensorMap& out, const std::string& field, const std::string& name,
                    const Tensor& value) {
        // Here what the file would refuse, or is too large, is this entry's fault.
        try {
            io::require_name(name);
        } catch (const ValueError& error) {
            refuse(field, error.what());
        }
        if (!out.emplace(name, value.contiguous()).second)
            refuse(field, "the name '" + name + "' is used twice");
    }

    // A function whose results are a list has one name for all: name/0, name/1, …
    void write_results(const Callable& function, const std::vector<Var>& results,
                       io::TensorMap& out) const {
        for (const auto& [result, value] : object(entry_, "outputs").items()) {
            const std::string field = "outputs." + result, &name = text(field, value);
            const size_t place = result_place(function, field, result, results.size());
            const auto dense = [&](const Var& y) {
                const CalledAs called(function.info->name.data());  // a view may be too large
                return y.value().contiguous();
            };
            if (!function.result_list)
                put(out, field, name, dense(results[place]));
            else
                for (size_t k = 0; k < results.size(); ++k)
                    put(out, field, name + "/" + std::to_string(k), dense(results[k]));
        }
    }

    void write_gradients(const Callable& function, const std::vector<Var>& results,
                         io::TensorMap& out) {
        const Json& gradients = object(entry_, "gradients");
        if (gradients.empty()) {
            if (!object(entry_, "cotangents").empty())
                refuse("cotangents", "are given, but no gradients are asked for");
            return;
        }
        if (!function.differentiable)
            refuse("gradients", "'" + std::string(function.info->name) + "' has no derivative");
        std::vector<Var> wrt;
        for (const auto& [name, value] : gradients.items()) {
            const auto at = operands_.find(name);
            if (at == operands_.end()) refuse("gradients." + name, "there is no such input");
            for (const Parameter& p : function.parameters)
                if (p.name == name && p.kind == Parameter::Kind::constant)
                    refuse("gradients." + name, "the operation is not differentiable in it");
            wrt.insert(wrt.end(), at->second.begin(), at->second.end());
        }
        const std::vector<Tensor> found = tape_.gradient(loss(function, results), wrt);
        size_t next = 0;
        for (const auto& [name, value] : gradients.items()) {
            const std::string field = "gradients." + name;
            const size_t count = operands_[name].size();
            if (!value.is_array()) {
                if (count != 1)
                    refuse(field, "must be a list of " + std::to_string(count) + " names");
                put(out, field, text(field, value), found[next++]);
                continue;
            }
            if (value.size() != count)
                refuse(field, "must be a list of " + std::to_string(count) + " names");
            for (const Json& item : value) put(out, field, text(field, item), found[next++]);
        }
    }

    // Σ ⟨cotangent, result⟩, whose gradient has the cotangents' exact bits. A scalar result alone needs none.
    Var loss(const Callable& function, const std::vector<Var>& results) const {
        const Json& cotangents = object(entry_, "cotangents");
        if (cotangents.empty()) {
            if (results.size() == 1 && results[0].count() == 1) return results[0];
            refuse("cotangents", "are needed: the result is no scalar");
        }
        Var total;
        const auto add = [&](const std::string& field, const Var& y, const Json& value) {
            const DType dtype = gradient_dtype(y.dtype());
            const Tensor u = read(field, value, dtype);
            if (!(u.shape() == y.shape()) || u.dtype() != dtype)
                refuse(field, "is " + to_string(u.dtype(), u.shape()) + ", the result " +
                                  to_string(dtype, y.shape()));
            if (y.is_constant())
                refuse(field, "the result does not depend on the inputs that gradients name");
            const Var term = sum((y.dtype() == dtype ? y : cast(y, dtype)) * Var(u));
            total = total.defined() ? total + term : term;
        };
        for (const auto& [result, value] : cotangents.items()) {
            const std::string field = "cotangents." + result;
            const size_t place = result_place(function, field, result, results.size());
            if (!function.result_list) {
                add(field, results[place], value);
                continue;
            }
            // As the results are called: name/0, name/1, …; or by a list of names.
            if (value.is_array() && value.size() != results.size())
                refuse(field, "must have " + std::to_string(results.size()) + " names");
            for (size_t k = 0; k < results.size(); ++k)
                add(field, results[k],
                    value.is_array() ? value[k]
                                     : Json(text(field, value) + "/" + std::to_string(k)));
        }
        return total;
    }

    const Json& entry_;
    const io::Safetensors& in_;
    std::optional<DType> dtype_;
    Operands operands_;
    SmootherReport report_;
    Tape tape_;
};

struct Spec {
    Json json;
    std::map<size_t, std::string>
        repeated;  // by entry: a key that stands twice in one object of it
};

// Parsed as JSON, the last of two equal keys would hide the other.
Json::parser_callback_t note_repeated(std::map<size_t, std::string>& repeated) {
    using Event = Json::parse_event_t;
    return [&repeated, keys = std::vector<std::set<std::string>>(), listed = false,
            next = size_t{0}](int depth, Event event, Json& parsed) mutable {
        if (depth == 0 && event == Event::array_start) listed = true;
        if (depth == 1 && listed && event != Event::array_end && event != Event::object_end) ++next;
        if (event == Event::object_start) keys.emplace_back();
        if (event == Event::object_end) keys.pop_back();
        if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second)
            repeated.emplace(listed ? next - 1 : 0, parsed.get<std::string>());
        return true;
    };
}

Spec read_spec(const std::filesystem::path& path) {
    const std::string bytes = read_text("eval", path);
    try {
        Spec spec;
        spec.json = Json::parse(bytes, note_repeated(spec.repeated));
        return spec;
    } catch (const Json::exception& error) {
        throw FormatError("eval", "'", path.string(), "' is no JSON: ", error.what());
    }
}

}  // namespace

int run_eval(const EvalOptions& options) {
    require_writable("eval --out", options.out);
    const Spec spec = read_spec(options.spec);
    const io::Safetensors in = io::Safetensors::open(options.in);
    io::TensorMap out;
    int status = ok;
    bool any = false;
    const auto run = [&](const Json& entry, size_t i) {
        if (const auto at = spec.repeated.find(i); at != spec.repeated.end())
            refuse(at->second, "stands twice in one object");
        return Evaluation(entry, in).run();
    };
    if (!spec.json.is_array()) {
        out = run(spec.json, 0);
    } else {
        for (size_t i = 0; i < spec.json.size(); ++i) try {
                for (auto& [name, tensor] : run(spec.json[i], i))
                    out.emplace(std::to_string(i) + "/" + name, tensor);
                any = true;
            } catch (const std::exception& error) {
                std::fprintf(stderr, "mercer: entry %zu: %s\n", i, printable(error.what()).c_str());
                status = failure;
            }
    }
    // Where every entry failed, what an earlier run wrote is worth more than nothing.
    if (status == ok || any) io::write_safetensors(options.out, out);
    return status;
}

}  // namespace mercer::cli
