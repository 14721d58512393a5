#include "cli/report/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "cli/report/assets.h"
#include "engine/io/atomic_file.h"

namespace mercer::cli {
namespace {

using nlohmann::json;

constexpr int data_digits = 7;
constexpr int scale_digits = 4;
constexpr double top_level = 63.0;
constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

double round_to(double value, int digits) {
    if (value == 0.0 || !std::isfinite(value)) {
        return value;
    }
    const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
    const int decimals = digits - 1 - exponent;
    // Dividing by an exact power of ten gives the double nearest to the short decimal.
    if (decimals >= 0) {
        const double power = std::pow(10.0, decimals);
        return std::isfinite(power) ? std::round(value * power) / power : value;
    }
    const double power = std::pow(10.0, -decimals);
    return std::round(value / power) * power;
}

/// A copy of `value` whose floating-point numbers are short.
json shorten(const json& value) {
    if (value.is_number_float()) {
        return round_to(value.get<double>(), data_digits);
    }
    if (!value.is_structured()) {
        return value;
    }
    json copy = value;
    for (json& item : copy) {
        item = shorten(item);
    }
    return copy;
}

/// JSON that cannot close the <script> element it stands in.
std::string script_safe(const json& data) {
    const std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {
        if (c == '<') {
            safe += "\\u003c";
        } else {
            safe += c;
        }
    }
    return safe;
}

std::string html_text(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

}  // namespace

std::string render_report(const json& data, Page which) {
    if (!data.is_object()) {
        throw std::runtime_error("the report's data is not a JSON object");
    }
    const auto title = data.find("title");
    const std::string heading = title != data.end() && title->is_string()
                                    ? title->get<std::string>()
                                    : "Attention as kernel smoothing";
    const std::string payload = script_safe(shorten(data));

    const bool gallery = which == Page::gallery;
    const std::string_view page = gallery ? assets::gallery_page() : assets::report_page();
    const std::string_view own = gallery ? assets::gallery_script() : assets::report_script();
    std::string html;
    html.reserve(page.size() + assets::style().size() + assets::d3().size() +
                 assets::script().size() + own.size() + payload.size() + heading.size());
    std::size_t at = 0;
    // One pass: what is put in is never searched for placeholders.
    while (true) {
        const std::size_t open = page.find("{{", at);
        if (open == std::string_view::npos) {
            html += page.substr(at);
            return html;
        }
        const std::size_t close = page.find("}}", open);
        if (close == std::string_view::npos) {
            throw std::logic_error("the report's template has an unclosed placeholder");
        }
        html += page.substr(at, open - at);
        const std::string_view name = page.substr(open + 2, close - open - 2);
        if (name == "style") {
            html += assets::style();
        } else if (name == "d3") {
            html += assets::d3();
        } else if (name == "script") {
            html += assets::script();
            html += own;
        } else if (name == "data") {
            html += payload;
        } else if (name == "title") {
            html += html_text(heading);
        } else {
            throw std::logic_error("the report's template names an unknown placeholder: " +
                                   std::string(name));
        }
        at = close + 2;
    }
}

void write_report(const std::filesystem::path& path, const json& data, Page page) {
    const std::string html = render_report(data, page);
    io::AtomicFile file("write_report", path);
    file.write(html);
    file.commit();
}

std::size_t attention_stride(std::size_t heads, std::size_t n, std::size_t max_cells) {
    const auto kept = [n](std::size_t stride) { return (n + stride - 1) / stride; };
    std::size_t stride = 1;
    while (kept(stride) > 1 && heads * kept(stride) * kept(stride) > max_cells) {
        ++stride;
    }
    return stride;
}

json pack_attention(std::span<const float> weights, std::size_t heads, std::size_t n,
                    const std::vector<std::string>& head_names, std::size_t max_cells) {
    const std::size_t stride = attention_stride(heads, n, max_cells),
                      size = (n + stride - 1) / stride;
    const bool whole = weights.size() == heads * n * n;
    if (heads == 0 || n == 0 || !(whole || weights.size() == heads * size * n) ||
        head_names.size() != heads) {
        throw std::runtime_error("pack_attention: the sizes of the weights and names disagree");
    }
    const auto acceptable = [](float w) { return std::isfinite(w) && w >= 0.0F; };
    if (!std::ranges::all_of(weights, acceptable)) {
        throw std::runtime_error("pack_attention: a weight is negative or not finite");
    }
    json text = json::array();
    json row_max = json::array();
    std::vector<double> row(size);
    for (std::size_t h = 0; h < heads; ++h) {
        std::string levels;
        levels.reserve(size * size);
        json maxima = json::array();
        for (std::size_t r = 0; r < size; ++r) {
            const auto source = weights.subspan((whole ? h * n + r * stride : h * size + r) * n, n);
            std::ranges::fill(row, 0.0);
            for (std::size_t c = 0; c < n; ++c) {
                row[c / stride] += static_cast<double>(source[c]);
            }
            const double top = round_to(std::ranges::max(row), scale_digits);
            for (const double w : row) {
                const double level = top > 0.0 ? top_level * std::sqrt(w / top) : 0.0;
                levels +=
                    alphabet[static_cast<std::size_t>(std::min(top_level, std::round(level)))];
            }
            maxima.push_back(top);
        }
        text.push_back(std::move(levels));
        row_max.push_back(std::move(maxima));
    }
    return {{"heads", heads},
            {"size", size},
            {"stride", stride},
            {"head_names", head_names},
            {"weights", std::move(text)},
            {"row_max", std::move(row_max)}};
}

}  // namespace mercer::cli
