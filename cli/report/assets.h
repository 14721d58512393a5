// The report's page, built into the program by cmake/EmbedReport.cmake.
#pragma once

#include <string_view>

namespace mercer::cli::assets {

std::string_view page();    ///< template.html
std::string_view style();   ///< report.css
std::string_view d3();      ///< D3 5, minified
std::string_view script();  ///< the page's own scripts, joined in order

}  // namespace mercer::cli::assets
