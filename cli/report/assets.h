// The pages, built into the program by cmake/EmbedReport.cmake.
#pragma once

#include <string_view>

namespace mercer::cli::assets {

std::string_view report_page();     ///< template.html
std::string_view gallery_page();    ///< gallery.html
std::string_view style();           ///< report.css, gallery.css
std::string_view d3();              ///< D3 5, minified
std::string_view script();          ///< what all pages share, joined in order
std::string_view report_script();   ///< the report's own scripts
std::string_view gallery_script();  ///< the gallery's own
std::string_view gallery_items();   ///< gallery.json

}  // namespace mercer::cli::assets
