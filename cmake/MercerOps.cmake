# Reads the pointwise rows of engine/ops/ops.def and writes, under <build>/generated/engine:
#   pointwise_functions.inc       the declarations, once for Tensor and once for Var
#   pointwise_reuse.inc           those of tensors that die
#   pointwise_<family>.cpp        the kernels, compiled once per instruction set
# Files are written only when their text changes, so that editing a formula rebuilds its family and nothing else.
function(mercer_generate_pointwise definitions out_dir)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${definitions})
  file(STRINGS ${definitions} rows REGEX "^POINTWISE\\(")
  set(functions "// Generated from engine/ops/ops.def.\n")
  set(reuse "${functions}")
  set(families)
  foreach(row IN LISTS rows)
    if(NOT row MATCHES "^POINTWISE\\(([a-z0-9_]+), ([A-Za-z0-9]+), ([1-4]), ([a-z_]+), \"([a-z, ]+)\", \"(.*)\", \"([a-z ]+)\", ([0-9]+)\\)$")
      message(FATAL_ERROR "engine/ops/ops.def: cannot read the row\n  ${row}")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(formula ${CMAKE_MATCH_2})
    set(arity ${CMAKE_MATCH_3})
    set(family ${CMAKE_MATCH_4})
    string(REPLACE ", " ";" parameters "${CMAKE_MATCH_5}")
    string(REPLACE "\\\\" "\\" latex "${CMAKE_MATCH_6}")
    set(cost ${CMAKE_MATCH_8})
    list(LENGTH parameters count)
    if(NOT count EQUAL arity)
      message(FATAL_ERROR "engine/ops/ops.def: ${name} has ${count} parameters, arity ${arity}")
    endif()
    list(TRANSFORM parameters PREPEND "const MERCER_VALUE& " OUTPUT_VARIABLE arguments)
    list(JOIN arguments ", " arguments)
    string(APPEND functions "/// $ ${latex} $, elementwise with broadcasting.\nMERCER_API MERCER_VALUE ${name}(${arguments});\n")
    if(arity EQUAL 1)
      string(APPEND reuse "MERCER_API Tensor ${name}(Tensor&& ${parameters});\n")
    elseif(arity EQUAL 2)
      list(GET parameters 0 a)
      list(GET parameters 1 b)
      foreach(pair "Tensor&& ${a}, const Tensor& ${b}" "const Tensor& ${a}, Tensor&& ${b}" "Tensor&& ${a}, Tensor&& ${b}")
        string(APPEND reuse "MERCER_API Tensor ${name}(${pair});\n")
      endforeach()
    endif()
    list(APPEND families ${family})
    string(APPEND kernels_${family}
      "extern const cpu::PointwiseKernels ${name}_kernels;\n"
      "const cpu::PointwiseKernels ${name}_kernels = pointwise_kernels<formula::${formula}, ${arity}>(${cost});\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out_dir}/pointwise_functions.inc CONTENT "${functions}" @ONLY)
  file(CONFIGURE OUTPUT ${out_dir}/pointwise_reuse.inc CONTENT "${reuse}" @ONLY)
  list(REMOVE_DUPLICATES families)
  set(files)
  foreach(family IN LISTS families)
    file(CONFIGURE OUTPUT ${out_dir}/pointwise_${family}.cpp @ONLY CONTENT
"// Generated from engine/ops/ops.def.
#include \"engine/cpu/pointwise_kernels.h\"
#include \"engine/ops/pointwise/${family}.h\"

namespace mercer::MERCER_ISA {
${kernels_${family}}}  // namespace mercer::MERCER_ISA
")
    list(APPEND files ${out_dir}/pointwise_${family}.cpp)
  endforeach()
  set(MERCER_POINTWISE_KERNELS ${files} PARENT_SCOPE)
endfunction()
