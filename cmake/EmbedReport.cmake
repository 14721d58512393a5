# Builds the report's pages into the program.
#
#   include(EmbedReport)
#   mercer_embed_report(sources)      # sources: the generated .cpp, to add to a target
#
# The same file, run as a script, writes that .cpp:
#
#   cmake -DOUTPUT=assets.cpp -DD3=d3.min.js -DFOLDER=cli/report
#         "-DASSETS=page template.html script a.js,b.js" -P EmbedReport.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(MERCER_EMBED_REPORT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
  set(MERCER_REPORT_DIR "${CMAKE_CURRENT_LIST_DIR}/../cli/report")
  cmake_path(NORMAL_PATH MERCER_REPORT_DIR)

  function(mercer_embed_report out_sources)
    find_file(MERCER_D3 d3.min.js
      PATHS /usr/share/nodejs/d3/dist /usr/lib/nodejs/d3/dist /usr/share/javascript/d3
      NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
      DOC "D3 5, minified, to inline in the report")
    if(NOT MERCER_D3)
      message(FATAL_ERROR
        "d3.min.js was not found; the report of `mercer demo` needs it at build time. "
        "Run `apt install node-d3`, or set MERCER_D3 to the file, "
        "or leave the program out with MERCER_BUILD_CLI=OFF.")
    endif()
    file(STRINGS "${MERCER_D3}" banner LIMIT_COUNT 1)
    if(NOT banner MATCHES "d3js\\.org v5\\.")
      message(FATAL_ERROR "${MERCER_D3} is not D3 5 (it begins: ${banner})")
    endif()

    # What each function of assets.h returns; scripts in the order in which a page runs them.
    set(assets
      report_page template.html
      gallery_page gallery.html
      style report.css,gallery.css
      script kit.js,page.js,export.js,weights.js,heat.js
      report_script check.js,fits.js,scores.js,loss.js,attention.js,primer.js,report.js
      gallery_script tex.js,gallery.js
      gallery_items gallery.json)
    string(REGEX MATCHALL "[a-z0-9_]+\\.(html|css|json|js)" files "${assets}")
    list(TRANSFORM files PREPEND "${MERCER_REPORT_DIR}/")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/report_assets.cpp")
    list(JOIN assets " " joined)
    add_custom_command(
      OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DD3=${MERCER_D3}" "-DFOLDER=${MERCER_REPORT_DIR}"
              "-DASSETS=${joined}" -P "${MERCER_EMBED_REPORT_SCRIPT}"
      DEPENDS "${MERCER_EMBED_REPORT_SCRIPT}" "${MERCER_D3}" ${files}
      COMMENT "Embedding the report's pages"
      VERBATIM)
    set(${out_sources} "${output}" PARENT_SCOPE)
  endfunction()
  return()
endif()

# --- Script mode ---------------------------------------------------------------------------------
cmake_minimum_required(VERSION 3.25)
foreach(name OUTPUT D3 FOLDER ASSETS)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "EmbedReport.cmake: -D${name}=... is missing")
  endif()
endforeach()

# Appends to `code` a function returning the named files, joined: every byte an escape in a string
# literal of many short pieces, so that no byte of the files can be mistaken for C++.
function(embed function_name files)
  string(REPLACE "," ";" files "${files}")
  set(hex "")
  foreach(path IN LISTS files)
    file(READ "${path}" bytes HEX)
    if(bytes STREQUAL "")
      message(FATAL_ERROR "EmbedReport.cmake: ${path} is empty")
    endif()
    # "</script" inside a script would end it early.
    if(NOT function_name MATCHES "_page$" AND bytes MATCHES "3c2f(7363726970|7374796c65)")
      message(FATAL_ERROR "EmbedReport.cmake: ${path} contains a closing tag")
    endif()
    string(APPEND hex "${bytes}")
  endforeach()
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  set(lines "")
  set(at 0)
  while(at LESS digits)
    string(SUBSTRING "${hex}" ${at} 4096 piece)
    string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
    string(APPEND lines "\n    \"${piece}\"")
    math(EXPR at "${at} + 4096")
  endwhile()
  set(code "${code}
std::string_view ${function_name}() {
    static constexpr char bytes[] =${lines};
    static_assert(sizeof(bytes) == ${size} + 1);
    return {bytes, ${size}};
}
" PARENT_SCOPE)
endfunction()

set(code "// Written by cmake/EmbedReport.cmake; do not edit.
#include \"cli/report/assets.h\"

namespace mercer::cli::assets {
")
embed(d3 "${D3}")
separate_arguments(ASSETS UNIX_COMMAND "${ASSETS}")
while(ASSETS)
  list(POP_FRONT ASSETS name files)
  string(REGEX REPLACE "([^,]+)" "${FOLDER}/\\1" files "${files}")
  embed(${name} "${files}")
endwhile()
string(APPEND code "\n}  // namespace mercer::cli::assets\n")
file(WRITE "${OUTPUT}" "${code}")
