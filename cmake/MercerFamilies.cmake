# mercer_families(out file…): writes FAMILY(stem) for every file, a line each, so that a list follows from its folder.
function(mercer_families out)
  set(text "// Generated: a line for each file of the folder.\n")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    string(APPEND text "FAMILY(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()
