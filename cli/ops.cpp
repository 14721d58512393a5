#include "cli/ops.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "attention/description/parts.h"
#include "engine/error.h"
#include "models/data/text.h"

namespace mercer::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Attribute& a) {
    return std::visit([](const auto& value) { return Json(value); }, a);
}

const char* name_of(Parity parity) {
    return parity == Parity::bits ? "bits" : parity == Parity::moves ? "moves" : "rounding";
}

// What a list of parameters asks for: "arguments", which are tensors, and "attributes".
Json describe(std::span<const Parameter> parameters, bool differentiable);

// The parts an attribute of this type chooses from, if it does.
Json choices_of(std::string_view type) {
    Json list = Json::array();
    const auto add = [&](const auto& rows) {
        for (const auto& row : rows) {
            Json entry{{"name", row.name}, {"title", row.title}};
            if constexpr (requires { row.parameters; })
                entry.update(describe(row.parameters, true));
            else
                entry["of"] = "list of filters";
            entry["formula"] = row.latex;
            entry["source"] = row.source;
            list.push_back(std::move(entry));
        }
    };
    if (type == "kernel") add(description::kernels());
    if (type == "position") add(description::positions());
    if (type == "normaliser") add(description::normalisers());
    if (type == "filter") add(description::filters()), add(description::joins());
    return list;
}

Json describe(std::span<const Parameter> parameters, bool differentiable) {
    Json arguments = Json::array(), attributes = Json::array();
    for (const Parameter& p : parameters) {
        if (p.kind == Parameter::Kind::attribute) {
            Json attribute{{"name", p.name}, {"type", p.type}};
            if (p.fallback) attribute["default"] = to_json(*p.fallback);
            if (!p.range.empty()) attribute["range"] = p.range;
            if (Json choices = choices_of(p.type); !choices.empty())
                attribute["choices"] = std::move(choices);
            attributes.push_back(std::move(attribute));
        } else {
            arguments.push_back(
                {{"name", p.name},
                 {"list", p.kind == Parameter::Kind::values},
                 {"optional", p.optional},
                 {"differentiable", p.kind != Parameter::Kind::constant && differentiable}});
        }
    }
    return {{"arguments", std::move(arguments)}, {"attributes", std::move(attributes)}};
}

Json describe(const Callable& c) {
    Json results = Json::array();
    for (const std::string& r : c.results)
        results.push_back({{"name", r}, {"list", c.result_list}});
    Json backends{"cpu"};
    if (c.info->pointwise) backends.push_back("cuda");
    Json row{{"name", c.info->name}};
    row.update(describe(c.parameters, c.differentiable));
    row.update({{"results", std::move(results)},
                {"formula", c.info->latex},
                {"differentiable", c.differentiable},
                {"parity", name_of(c.info->parity)},
                {"backends", std::move(backends)},
                {"source", c.info->source}});
    return row;
}

}  // namespace

const std::vector<Callable>& all_operations() {
    static const std::vector<Callable> list = [] {
        std::vector<Callable> all(callables().begin(), callables().end());
        const auto more = description::operations();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }();
    return list;
}

const Callable& find_operation(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Callable& c : all_operations()) {
        if (c.info->name == name) return c;
        names.push_back(c.info->name);
    }
    throw ValueError("call", "no operation is called '", printable(name), "'",
                     suggestion(name, names));
}

void print_ops(bool json) {
    if (!json) {
        for (const Callable& c : all_operations())
            std::printf("%-20s %-58s %s\n", std::string(c.info->name).c_str(),
                        ("(" + std::string(c.info->signature) + ")").c_str(),
                        c.differentiable ? "" : "no derivative");
        return;
    }
    Json list = Json::array();
    for (const Callable& c : all_operations()) list.push_back(describe(c));
    std::printf("%s\n", list.dump(2).c_str());
}

}  // namespace mercer::cli
