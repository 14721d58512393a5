#include "cli/gallery.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "autograd/functions.h"
#include "cli/files.h"
#include "cli/gallery_items.h"
#include "cli/ops.h"
#include "cli/progress.h"
#include "cli/report/report.h"
#include "cli/smoother_spec.h"
#include "engine/error.h"
#include "models/data/text.h"

namespace mercer::cli {
namespace {

constexpr int64_t n = gallery_tokens;

// The caption of the row that an item chose, but for what the item says itself.
void caption(const std::string& attribute, Json& item) {
    const Json& chosen = item["attrs"].at(attribute);
    const std::string name = chosen.is_string() ? chosen.get<std::string>() : chosen.begin().key();
    const auto take = [&](const auto& rows) {
        for (const auto& row : rows) {
            if (row.name != name) continue;
            item["name"] = name;
            item["source"] = row.source;
            if (!item.contains("title")) item["title"] = row.title;
            if (!item.contains("formula")) item["formula"] = row.latex;
        }
    };
    if (attribute == "kernel") take(description::kernels());
    if (attribute == "filter") take(description::filters()), take(description::joins());
    if (attribute == "position") take(description::positions());
    if (attribute == "normaliser") take(description::normalisers());
}

std::vector<double> head(const Tensor& t, int64_t h) {
    return slice(slice(t, 0, 0, 1), 1, h, h + 1).contiguous().to_vector<double>();
}

// −Σ w log w of each row; null where a weight is negative.
Json entropies(const std::vector<double>& weights) {
    Json out = Json::array();
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) {
            const double w = weights[size_t(i * n + j)];
            if (w < 0) return nullptr;
            if (w > 0) sum -= w * std::log(w);
        }
        out.push_back(sum);
    }
    return out;
}

// A letter for each cell, where any is marked.
template <class F>
Json marks(const std::vector<double>& cells, F marked) {
    std::string letters;
    for (const double x : cells) letters += marked(x) ? '1' : '0';
    return letters.find('1') == letters.npos ? Json() : Json(letters);
}

// One picture's data: what `attend` of these attributes gives.
void compute(const io::TensorMap& inputs, Json& item) {
    const Var q = inputs.at("q"), k = inputs.at("k"), v = inputs.at("v");
    SmootherReport met;
    SmootherOptions options = read_smoother(
        find_operation("attend"), item["attrs"], DType::f64,
        [&](const std::string&, const std::string& name) { return Var(inputs.at(name)); });
    options.report = &met;
    const Tensor out = attend(q, k, v, options).value();
    options.report = nullptr;
    const Tensor weights = smoother_weights(q, k, options).value();
    // A position scheme may hide keys too.
    const Positioned at = place(options.position, q, k);
    const Filter filter = at.horizon ? options.filter & causal(*at.horizon) : options.filter;
    const Tensor mask = visible(filter, weights.shape());
    const Tensor seen = cast(broadcast_to(mask, weights.shape()), DType::f64);
    const auto heads = item.value("heads", int64_t{1});
    std::vector<float> sizes;
    std::vector<std::string> names;
    Json outs = Json::array(), entropy = Json::array(), signs = Json::array(),
         hidden = Json::array();
    for (int64_t h = 0; h < heads; ++h) {
        const std::vector<double> w = head(weights, h);
        for (const double x : w) sizes.push_back(float(std::abs(x)));
        names.push_back("head " + std::to_string(h + 1));
        outs.push_back(head(out, h));
        entropy.push_back(entropies(w));
        signs.push_back(marks(w, [](double x) { return x < 0; }));
        hidden.push_back(marks(head(seen, h), [](double x) { return x == 0; }));
    }
    item["map"] = pack_attention(sizes, size_t(heads), size_t(n), names);
    item["out"] = std::move(outs);
    item["entropy"] = std::move(entropy);
    item["negative"] = std::move(signs);
    item["hidden"] = std::move(hidden);
    // Heads that are alike count alike.
    item["fallbacks"] = met.fallbacks / gallery_heads * heads;
    item["nonpositive"] = met.nonpositive / gallery_heads * heads;
}

Json gallery_data(const io::TensorMap& inputs, Progress& line) {
    Json groups = gallery_groups();
    for (Json& group : groups) {
        const std::string attribute = group["attribute"];
        int count = 0;
        for (Json& item : group["items"]) {
            line.show(group["title"], double(count) / double(group["items"].size()));
            item["id"] = attribute + "-" + std::to_string(++count);
            caption(attribute, item);
            compute(inputs, item);
        }
        group["id"] = attribute;
    }
    line.clear();
    return groups;
}

}  // namespace

void run_gallery(const GalleryOptions& options) {
    const auto started = std::chrono::steady_clock::now();
    require_writable("smoothers --out", options.out);
    const io::TensorMap inputs = gallery_inputs();
    if (!options.inputs.empty()) {
        require_writable("smoothers --inputs", options.inputs);
        io::write_safetensors(options.inputs, inputs);
    }
    Progress line(options.quiet);
    Json page = {{"title", "A gallery of smoothers"},
                 {"input",
                  {{"tokens", n},
                   {"width", gallery_width},
                   {"value", head(inputs.at("v"), 0)},
                   {"features", head(inputs.at("q"), 0)}}},
                 {"groups", gallery_data(inputs, line)}};
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
    page.update(provenance(options.command, spent.count()));
    write_report(options.out, page, Page::gallery);
    std::printf("%s\n", printable(options.out.string()).c_str());
}

}  // namespace mercer::cli
