# Cross compilation for 64-bit ARM with Debian's compiler; programs run under qemu.
# The libraries lie in build/arm64-sysroot: see arm64_sysroot.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(_mercer_sysroot "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-sysroot" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${_mercer_sysroot}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The sysroot's directories stand where the compiler of an ARM machine would have them: searched always, last.
set(_mercer_libraries "${_mercer_sysroot}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CXX_FLAGS_INIT
    "-idirafter ${_mercer_sysroot}/usr/include/aarch64-linux-gnu -idirafter ${_mercer_sysroot}/usr/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${_mercer_libraries} -Wl,-rpath-link,${_mercer_libraries}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=${_mercer_libraries}:/usr/aarch64-linux-gnu/lib")
