#include "autograd/call.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "autograd/call_bind.h"
#include "autograd/functions.h"
#include "engine/operation.h"

namespace mercer {
namespace binding {
namespace {

// Splits at `separator` outside brackets, trimming blanks.
std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : separator;
        depth += (c == '[' || c == '(') - (c == ']' || c == ')');
        if (i < text.size() && (c != separator || depth > 0)) continue;
        std::string_view part = text.substr(from, i - from);
        while (part.starts_with(' ')) part.remove_prefix(1);
        while (part.ends_with(' ')) part.remove_suffix(1);
        if (!part.empty()) parts.push_back(part);
        from = i + 1;
    }
    return parts;
}

double number(std::string_view text) {
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    double x = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (error != std::errc{} || end != text.data() + text.size())
        throw ValueError("ops.def", "'", text, "' is no number");
    return x;
}

Attribute parse_default(std::string_view text, const std::string& type) {
    if (type == "bool") return text == "true";
    if (type == "int") return int64_t(number(text));
    if (type == "float") return number(text);
    if (type == "ints" || type == "key") {
        std::vector<int64_t> list;
        for (std::string_view part : split(text.substr(1, text.size() - 2), ','))
            list.push_back(int64_t(number(part)));
        return list;
    }
    return std::string(text);
}

}  // namespace

DType dtype_named(const std::string& name) {
    for (int t = 0; t < dtypes; ++t)
        if (name_of(DType(t)) == name) return DType(t);
    throw ValueError("call", "'", name, "' is no dtype; use f32, f64, i32, i64, bool or bf16");
}

size_t choice_named(const std::string& name, std::span<const std::string_view> names) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) throw ValueError("call", "'", name, "' is not among the choices");
    return size_t(at - names.begin());
}

void read_signature(std::string_view name, std::string_view signature,
                    std::vector<Parameter>& parameters) {
    const auto parts = split(signature, ',');
    if (parts.size() != parameters.size())
        throw ValueError("ops.def", name, ": the signature names ", parts.size(),
                         " parameters, the function takes ", parameters.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        Parameter& p = parameters[i];
        std::string_view text = parts[i];
        if (const size_t in = text.find(" in "); in != text.npos) {
            p.range = text.substr(in + 4);
            text = text.substr(0, in);
        }
        if (const size_t equals = text.find('='); equals != text.npos) {
            p.fallback = parse_default(text.substr(equals + 1), p.type);
            text = text.substr(0, equals);
        }
        p.optional = text.ends_with('?');
        while (text.ends_with('?') || text.ends_with(':') || text.ends_with('.'))
            text.remove_suffix(1);
        p.name = text;
    }
}

Callable describe(const OperationInfo& info, std::vector<Parameter> parameters, bool differentiable,
                  std::vector<Var> (*invoke)(std::span<const Argument>)) {
    std::string_view signature = info.signature, results = "out";
    if (const size_t arrow = signature.find("->"); arrow != signature.npos) {
        results = signature.substr(arrow + 2);
        signature = signature.substr(0, arrow);
    }
    read_signature(info.name, signature, parameters);
    const bool list = results.ends_with("...");
    if (list) results.remove_suffix(3);
    Callable c{&info, std::move(parameters), {}, list, differentiable, invoke};
    for (std::string_view r : split(results, ',')) c.results.emplace_back(r);
    return c;
}

}  // namespace binding

std::span<const Callable> callables() {
    static const std::vector<Callable> list = [] {
        using Value = Var;
        std::vector<Callable> bound;
        const OperationInfo* row = operations().data();
#define TYPES_1 (const Value&)
#define TYPES_2 (const Value&, const Value&)
#define TYPES_3 (const Value&, const Value&, const Value&)
#define POINTWISE(name, formula, arity, ...) MERCER_BIND(bound, *row++, name, TYPES_##arity)
#define FUNCTION(name, types, ...) MERCER_BIND(bound, *row++, name, types)
#include "engine/ops/ops.def"
#undef FUNCTION
#undef POINTWISE
        return bound;
    }();
    return list;
}

namespace {

size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t corner = row[0]++;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t next =
                std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1])});
            corner = std::exchange(row[j], next);
        }
    }
    return row[b.size()];
}

using Names = std::vector<std::string_view>;

bool within(const std::string& range, double x) {
    const size_t comma = range.find(',');
    const double low = binding::number(std::string_view(range).substr(1, comma - 1));
    const double high =
        binding::number(std::string_view(range).substr(comma + 1, range.size() - comma - 2));
    return (range.front() == '[' ? x >= low : x > low) &&
           (range.back() == ']' ? x <= high : x < high);
}

Attribute converted(std::string_view name, const Parameter& p, const Attribute& given) {
    const auto wrong = [&]() -> ValueError {
        return ValueError(name, "attribute '", p.name, "' must be ", p.type);
    };
    const auto require_width = [&](int64_t x) {
        if (x > p.most || x < -p.most - 1)
            throw ValueError(name, "attribute '", p.name, "' does not hold ", x,
                             ", which is wider than 32 bits");
    };
    Attribute a = given;
    if (p.type == "int" || p.type == "int|none") {
        if (const double* x = std::get_if<double>(&a);
            x && *x == std::floor(*x) && std::abs(*x) < 9e15)
            a = int64_t(*x);
        const std::string* none = std::get_if<std::string>(&a);
        if (!std::holds_alternative<int64_t>(a) &&
            !(none && p.type == "int|none" && *none == "none"))
            throw wrong();
        if (const int64_t* x = std::get_if<int64_t>(&a)) require_width(*x);
    } else if (p.type == "float") {
        if (const int64_t* x = std::get_if<int64_t>(&a)) {
            if (double(*x) == 0x1p63 || int64_t(double(*x)) != *x)
                throw ValueError(name, "attribute '", p.name, "' does not hold ", *x,
                                 " exactly; give it as a float");
            a = double(*x);
        }
        if (const std::string* s = std::get_if<std::string>(&a);
            s && (*s == "inf" || *s == "-inf" || *s == "nan"))
            a = binding::number(*s);  // JSON has none of them
        if (!std::holds_alternative<double>(a)) throw wrong();
    } else if (p.type == "bool") {
        if (!std::holds_alternative<bool>(a)) throw wrong();
    } else if (p.type == "ints" || p.type == "key") {
        const auto* list = std::get_if<std::vector<int64_t>>(&a);
        if (!list) throw wrong();
        for (int64_t x : *list) require_width(x);
        if (p.type == "key" && list->size() != 2)
            throw ValueError(name, "attribute '", p.name, "' must be [seed, stream]");
    } else if (const std::string* s = std::get_if<std::string>(&a);
               !s || (p.type.find('|') != p.type.npos &&
                      (s->find('|') != s->npos ||
                       ('|' + p.type + '|').find('|' + *s + '|') == p.type.npos))) {
        throw wrong();
    }
    if (!p.range.empty()) {
        const double x = p.type == "int" ? double(std::get<int64_t>(a)) : std::get<double>(a);
        if (!within(p.range, x))
            throw ValueError(name, "attribute '", p.name, "' = ", x, " is outside ", p.range);
    }
    return a;
}

}  // namespace

const Callable& callable(std::string_view name) {
    Names names;
    for (const Callable& c : callables()) {
        if (c.info->name == name) return c;
        names.push_back(c.info->name);
    }
    throw ValueError("call", "no operation is called '", name, "'", suggestion(name, names));
}

std::string suggestion(std::string_view name, std::span<const std::string_view> names) {
    std::string_view best;
    size_t least = name.size() / 2 + 1;
    for (std::string_view n : names)
        if (const size_t d = distance(name, n); d < least) best = n, least = d;
    return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

std::vector<Argument> arguments_for(std::string_view name, std::span<const Parameter> parameters,
                                    const Operands& operands, const Attributes& attributes) {
    Names operand_names, attribute_names;
    for (const Parameter& p : parameters)
        (p.kind == Parameter::Kind::attribute ? attribute_names : operand_names).push_back(p.name);
    const auto known = [&](const Names& names, const std::string& given, const char* what) {
        if (std::find(names.begin(), names.end(), given) == names.end())
            throw ValueError(name, what, " '", given, "' is unknown", suggestion(given, names));
    };
    for (const auto& [given, unused] : operands) known(operand_names, given, "argument");
    for (const auto& [given, unused] : attributes) known(attribute_names, given, "attribute");

    std::vector<Argument> arguments;
    for (const Parameter& p : parameters) {
        if (p.kind == Parameter::Kind::attribute) {
            const auto given = attributes.find(p.name);
            if (given != attributes.end())
                arguments.push_back(converted(name, p, given->second));
            else if (p.fallback)
                arguments.push_back(*p.fallback);
            else
                throw ValueError(name, "attribute '", p.name, "' (", p.type, ") is missing");
            continue;
        }
        const auto given = operands.find(p.name);
        if (given == operands.end()) {
            if (!p.optional && p.kind != Parameter::Kind::values)
                throw ValueError(name, "argument '", p.name, "' is missing");
            arguments.push_back(std::vector<Var>{});
        } else {
            if (p.kind != Parameter::Kind::values && given->second.size() != 1)
                throw ValueError(name, "argument '", p.name, "' is one tensor, not ",
                                 given->second.size());
            arguments.push_back(given->second);
        }
    }
    return arguments;
}

std::vector<Var> call(const Callable& f, const Operands& operands, const Attributes& attributes) {
    const CalledAs called(f.info->name.data());
    return f.invoke(arguments_for(f.info->name, f.parameters, operands, attributes));
}

}  // namespace mercer
