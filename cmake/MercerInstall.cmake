# Installs what mercer_layer() exported: headers, targets for find_package, and mercer.pc. Included last.
include(CMakePackageConfigHelpers)

set(MERCER_LAYERS)
foreach(layer models attention autograd engine) # the order in which a linker wants them
  if(TARGET mercer_${layer})
    list(APPEND MERCER_LAYERS ${layer})
    set_target_properties(mercer_${layer} PROPERTIES INSTALL_RPATH "\$ORIGIN")
    install(DIRECTORY ${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mercer
      FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
  endif()
endforeach()
install(DIRECTORY include/mercer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mercer
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
if(TARGET mercer)
  install(TARGETS mercer)
endif()

set(_mercer_config ${CMAKE_INSTALL_LIBDIR}/cmake/mercer)
install(EXPORT mercer NAMESPACE mercer:: FILE mercer-targets.cmake DESTINATION ${_mercer_config})
configure_package_config_file(cmake/mercer-config.cmake.in ${PROJECT_BINARY_DIR}/mercer-config.cmake
  INSTALL_DESTINATION ${_mercer_config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mercer-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mercer-config.cmake ${PROJECT_BINARY_DIR}/mercer-config-version.cmake
  cmake/MercerKernels.cmake DESTINATION ${_mercer_config})

# mercer.pc finds the prefix from where it lies, so that an installed tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(MERCER_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  set(MERCER_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(MERCER_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH _mercer_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" _mercer_up "${_mercer_up}")
  set(MERCER_PC_PREFIX "\${pcfiledir}/${_mercer_up}")
  set(MERCER_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(MERCER_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(TRANSFORM MERCER_LAYERS PREPEND "-lmercer_" OUTPUT_VARIABLE MERCER_PC_LIBS)
list(JOIN MERCER_PC_LIBS " " MERCER_PC_LIBS)
configure_file(cmake/mercer.pc.in ${PROJECT_BINARY_DIR}/mercer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mercer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
