# mercer_kernels(target file.cpp …): compiles each file once per instruction set into `target`, and once more as an
# ordinary file, where MERCER_MAP (engine/map.h) defines the run-time choice. mercer_isa_objects does the first half only.
#
# A file sees MERCER_KERNEL_ISA = scalar, scalar_fma, avx2, avx512 or neon and keeps its kernels in that namespace
# (engine/simd/isa.h). It is how the library's own kernels are built, and how a user's map() formulas get full speed.
# Inlined whole, a kernel takes minutes to compile with sanitizers: -O1 in debug builds.
set(MERCER_KERNEL_FLAGS $<IF:$<CONFIG:Debug>,-O1,-O3> -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-exceptions
    -fno-asynchronous-unwind-tables -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's "flatten" leaves out calls to copies that these passes make: a formula's parts would be computed again and again.
  list(APPEND MERCER_KERNEL_FLAGS -fno-ipa-cp -fno-ipa-sra)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(MERCER_ISAS scalar scalar_fma avx2 avx512)
  set(MERCER_FLAGS_scalar_fma -mfma)
  set(MERCER_FLAGS_avx2 -mavx2 -mfma -mbmi -mbmi2)
  set(MERCER_FLAGS_avx512 ${MERCER_FLAGS_avx2} -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(MERCER_ISAS scalar neon)
else()
  set(MERCER_ISAS scalar)
endif()

function(mercer_isa_objects target)
  foreach(isa IN LISTS MERCER_ISAS)
    set(objects ${target}_kernels_${isa})
    if(NOT TARGET ${objects})
      add_library(${objects} OBJECT)
      target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
      target_compile_features(${objects} PRIVATE cxx_std_20)
      target_compile_definitions(${objects} PRIVATE MERCER_KERNEL_ISA=${isa})
      target_compile_options(${objects} PRIVATE ${MERCER_KERNEL_FLAGS} ${MERCER_FLAGS_${isa}})
      # The address sanitizer watches one of the copies.
      target_compile_options(${objects} PRIVATE
        $<IF:$<IN_LIST:${isa},avx2$<SEMICOLON>neon>,-fno-sanitize=undefined,-fno-sanitize=all>)
      if(isa MATCHES "^scalar")
        target_compile_definitions(${objects} PRIVATE MERCER_SIMD=0)
      endif()
      set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                            VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endif()
    target_sources(${objects} PRIVATE ${ARGN})
  endforeach()
endfunction()

function(mercer_kernels target)
  mercer_isa_objects(${target} ${ARGN})
  target_sources(${target} PRIVATE ${ARGN})
endfunction()
