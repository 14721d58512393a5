# mercer_layer(name [LINKS target…] [PRIVATE target…] SOURCES file…): one layer of the house, target mercer::name.
function(mercer_layer name)
  cmake_parse_arguments(arg "" "" "LINKS;PRIVATE;SOURCES" ${ARGN})
  set(target mercer_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(mercer::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/mercer>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -ffp-contract=off>)
  target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE})
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF EXPORT_NAME ${name})
  if(MERCER_INSTALL)
    install(TARGETS ${target} EXPORT mercer)
  endif()
endfunction()
