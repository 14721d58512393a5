#include "cli/smoother_spec.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/call_bind.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer::cli {
namespace {

using description::Part;

class Reader {
public:
    Reader(DType dtype, const InputByName& input) : dtype_(dtype), input_(input) {}

    template <class T>
    T part(std::span<const Part<T>> rows, const char* kind, const std::string& field,
           const Json& value) const {
        const auto chosen = choice(field, value);
        const std::string inside = field + "." + chosen.name + ".";
        return naming(field, [&] {
            const Part<T>& row = description::named(rows, kind, chosen.name);
            Operands operands;
            Attributes attributes;
            for (const auto& entry : chosen.parameters->items()) {
                const std::string& key = entry.key();
                const auto p = std::find_if(row.parameters.begin(), row.parameters.end(),
                                            [&](const Parameter& q) { return q.name == key; });
                const bool known = p != row.parameters.end();
                if (known && p->kind != Parameter::Kind::attribute)
                    operands[key] = {operand(inside + key, *p, entry.value())};
                else
                    attributes[key] =
                        attribute(inside + key, entry.value(), known ? p->type : std::string());
            }
            return row.make(arguments_for(row.name, row.parameters, operands, attributes));
        });
    }

    // `joins` stand around it: what nests without end would exhaust the stack.
    Filter filter(const std::string& field, const Json& value, int joins = 0) const {
        if (value.is_object() && value.size() == 1)
            for (const description::Join& join : description::joins())
                if (value.begin().key() == join.name)
                    return joined(join, field + "." + std::string(join.name), *value.begin(),
                                  joins);
        return part(description::filters(), "filter", field, value);
    }

private:
    static constexpr int deepest = 64;

    Filter joined(const description::Join& join, const std::string& field, const Json& list,
                  int joins) const {
        if (joins == deepest)
            refuse(field.substr(0, 60) + "…", "filters nest more than 64 deep; nest fewer");
        if (!list.is_array() || list.empty()) refuse(field, "must be a list of filters");
        std::vector<Filter> of;
        for (size_t i = 0; i < list.size(); ++i)
            of.push_back(filter(field + "[" + std::to_string(i) + "]", list[i], joins + 1));
        return naming(field, [&] { return join.make(of); });
    }

    // The part's own complaints, with the field.
    template <class F>
    static auto naming(const std::string& field, F f) -> decltype(f()) {
        try {
            return f();
        } catch (const FormatError&) {
            throw;
        } catch (const Error& error) {
            refuse(field, error.what());
        }
    }

    struct Choice {
        std::string name;
        const Json* parameters;
    };
    static Choice choice(const std::string& field, const Json& value) {
        static const Json none = Json::object();
        if (value.is_string()) return {value.get<std::string>(), &none};
        if (!value.is_object() || value.size() != 1)
            refuse(field, "must be a name, or an object of one name and its parameters");
        if (!value.begin()->is_object())
            refuse(field + "." + value.begin().key(), "must be an object of parameters");
        return {value.begin().key(), &*value.begin()};
    }

    Var operand(const std::string& field, const Parameter& p, const Json& value) const {
        if (value.is_string()) return input_(field, value.get<std::string>());
        std::vector<double> numbers;
        const Shape shape = flatten(field, value, numbers);
        const bool flags = std::all_of(numbers.begin(), numbers.end(),
                                       [](double x) { return x == 0 || x == 1; }) &&
                           holds_flags(value);
        const bool constant = p.kind == Parameter::Kind::constant;
        const auto whole = [](double x) { return x == std::floor(x) && std::abs(x) <= 0x1p53; };
        if (constant && !std::all_of(numbers.begin(), numbers.end(), whole))
            refuse(field, "must hold whole numbers, up to 2^53");
        const Tensor all = Tensor::from(numbers, shape);
        return cast(all, !constant ? dtype_ : flags ? DType::boolean : DType::i64);
    }

    static bool holds_flags(const Json& value) {
        return value.is_array() ? !value.empty() && holds_flags(value[0]) : value.is_boolean();
    }

    static Shape flatten(const std::string& field, const Json& value, std::vector<double>& numbers,
                         int axes = 0) {
        if (value.is_number() || value.is_boolean()) {
            numbers.push_back(value.is_boolean() ? double(value.get<bool>()) : value.get<double>());
            return {};
        }
        if (!value.is_array())
            refuse(field, "must be the name of an input, a number, or a list of numbers");
        if (axes == 2) refuse(field, "has more than two axes; give it as an input");
        Shape out;
        for (size_t i = 0; i < value.size(); ++i) {
            const Shape one = flatten(field, value[i], numbers, axes + 1);
            if (i > 0 && !(one == out)) refuse(field, "has rows of unequal lengths");
            out = one;
        }
        Shape shape{int64_t(value.size())};
        for (int a = 0; a < out.rank(); ++a) shape.push_back(out[a]);
        return shape;
    }

    DType dtype_;
    const InputByName& input_;
};

// From the plain attributes, checked with those of parts among the names that there are.
WeightDropout dropout_of(const Callable& operation, const Attributes& given) {
    std::vector<Parameter> attributes;
    for (const Parameter& p : operation.parameters)
        if (p.kind == Parameter::Kind::attribute) attributes.push_back(p);
    const auto arguments = arguments_for(operation.info->name, attributes, {}, given);
    WeightDropout out;
    for (size_t i = 0; i < attributes.size(); ++i) {
        const Attribute& value = std::get<Attribute>(arguments[i]);
        if (attributes[i].name == "dropout") out.rate = std::get<double>(value);
        if (attributes[i].name == "key") out.key = binding::Held<Key>(arguments[i]).get();
    }
    return out;
}

}  // namespace

std::string attribute_type(const Callable& operation, std::string_view name) {
    for (const Parameter& p : operation.parameters)
        if (p.kind == Parameter::Kind::attribute && p.name == name) return p.type;
    return {};
}

SmootherOptions read_smoother(const Callable& operation, const Json& attrs, DType dtype,
                              const InputByName& input) {
    const Reader reader(dtype, input);
    SmootherOptions options;
    Attributes plain;
    for (const auto& [name, value] : attrs.items()) {
        const std::string field = "attrs." + name, type = attribute_type(operation, name);
        if (type == "kernel")
            options.kernel = reader.part(description::kernels(), "kernel", field, value);
        else if (type == "filter")
            options.filter = reader.filter(field, value);
        else if (type == "position")
            options.position = reader.part(description::positions(), "position", field, value);
        else if (type == "normaliser")
            options.normaliser =
                reader.part(description::normalisers(), "normaliser", field, value);
        else
            plain[name] = attribute(field, value, type);
    }
    options.dropout = dropout_of(operation, plain);
    return options;
}

}  // namespace mercer::cli
