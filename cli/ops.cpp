#include "cli/ops.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "autograd/call.h"

namespace mercer::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Attribute& a) {
    return std::visit([](const auto& value) { return Json(value); }, a);
}

const char* name_of(Parity parity) {
    return parity == Parity::bits ? "bits" : parity == Parity::moves ? "moves" : "rounding";
}

Json describe(const Callable& c) {
    Json arguments = Json::array(), attributes = Json::array(), results = Json::array();
    for (const Parameter& p : c.parameters) {
        if (p.kind == Parameter::Kind::attribute) {
            Json attribute{{"name", p.name}, {"type", p.type}};
            if (p.fallback) attribute["default"] = to_json(*p.fallback);
            if (!p.range.empty()) attribute["range"] = p.range;
            attributes.push_back(std::move(attribute));
        } else {
            arguments.push_back(
                {{"name", p.name},
                 {"list", p.kind == Parameter::Kind::values},
                 {"optional", p.optional},
                 {"differentiable", p.kind != Parameter::Kind::constant && c.differentiable}});
        }
    }
    for (const std::string& r : c.results)
        results.push_back({{"name", r}, {"list", c.result_list}});
    Json backends{"cpu"};
    if (c.info->pointwise) backends.push_back("cuda");
    return {{"name", c.info->name},
            {"arguments", std::move(arguments)},
            {"attributes", std::move(attributes)},
            {"results", std::move(results)},
            {"formula", c.info->latex},
            {"differentiable", c.differentiable},
            {"parity", name_of(c.info->parity)},
            {"backends", std::move(backends)},
            {"source", c.info->source}};
}

}  // namespace

void print_ops(bool json) {
    if (!json) {
        for (const Callable& c : callables())
            std::printf("%-20s %-58s %s\n", std::string(c.info->name).c_str(),
                        ("(" + std::string(c.info->signature) + ")").c_str(),
                        c.differentiable ? "" : "no derivative");
        return;
    }
    Json list = Json::array();
    for (const Callable& c : callables()) list.push_back(describe(c));
    std::printf("%s\n", list.dump(2).c_str());
}

}  // namespace mercer::cli
