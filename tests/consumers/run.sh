#!/usr/bin/env bash
# run.sh BUILD_DIR SOURCE_DIR: the ways in which another project takes Mercer in, each tried on a small one.
#
#   find_package      from an install prefix, static and shared, the prefix moved after the installation
#   pkg-config        likewise
#   add_subdirectory  nothing leaks: no flag, variable, cache entry, test or installed file
#   umbrella          <mercer/mercer.h> needs no header of oneTBB, OpenBLAS or nlohmann/json
# shellcheck disable=SC2317 # functions are called by `attempt`
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
here=$source/tests/consumers work=$build/consumers
# Whole builds of Mercer, as deep as the one beside them: ccache knows files by their paths from there.
subdirectory=$build-consumer shared=$build-shared
release=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG")
jobs=$(nproc)
failures=0
export CMAKE_GENERATOR=Ninja

# quietly COMMAND…: what it says matters only if it fails
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }; }

# attempt NAME FUNCTION…: one line per way
attempt() {
    local name=$1 started=$SECONDS verdict=ok
    shift
    (set -e; "$@") &
    wait $! || { verdict=FAILED; failures=$((failures + 1)); }
    printf '%-28s %s  (%d s)\n' "$name" "$verdict" $((SECONDS - started))
}

# answers PROGRAM: it runs and has the right gradient
answers() {
    local said
    said=$("$@")
    [[ $said == "gradient 6" ]] || { echo "$1 said: $said"; return 1; }
}

# install BUILD NAME: into a prefix of another name, then moved to $work/NAME
install_moved() {
    rm -rf "${work:?}/$2" "$work/$2.first"
    quietly cmake --install "$1" --prefix "$work/$2.first"
    mv "$work/$2.first" "$work/$2"
}

by_find_package() {
    rm -rf "$work/find_package.$1"
    quietly cmake -S "$here/find_package" -B "$work/find_package.$1" "${release[@]}" -DCMAKE_PREFIX_PATH="$work/$1"
    quietly cmake --build "$work/find_package.$1"
    answers "$work/find_package.$1/consumer"
}

by_pkg_config() {
    local config library_path
    config=$(find "$work/$1" -name mercer.pc)
    PKG_CONFIG_PATH=$(dirname "$config")
    export PKG_CONFIG_PATH
    library_path=$(dirname "$PKG_CONFIG_PATH")
    rm -f "$work/pkg_config.$1"
    quietly "$here/pkg_config/build.sh" "$work/pkg_config.$1" "${@:2}"
    LD_LIBRARY_PATH=$library_path answers "$work/pkg_config.$1"
}

umbrella() {
    local foreign
    foreign=$("${CXX:-g++}" -std=c++20 -M -I "$work/static/include" -I "$work/static/include/mercer" "$here/main.cpp" |
        tr ' ' '\n' | grep -E '/(tbb|oneapi|nlohmann)/|cblas|openblas' || true)
    [[ -z $foreign ]] || { echo "<mercer/mercer.h> includes: $foreign"; return 1; }
    quietly "${CXX:-g++}" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$work/static/include" \
        -I "$work/static/include/mercer" "$here/main.cpp"
}

by_add_subdirectory() {
    local tree=$subdirectory flags installed
    quietly cmake -S "$here/add_subdirectory" -B "$tree" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG -DMERCER_SOURCE="$source"
    quietly cmake --build "$tree" -j "$jobs" --target consumer
    answers "$tree/consumer"
    # The consumer's own compile command: its flags, the includes and the standard, nothing else.
    flags=$(grep -F -- '-c ' "$tree/compile_commands.json" | grep -F consumers/main.cpp | sed 's/.*"command": "//; s/",$//' |
        tr ' ' '\n' | sed '1d' | grep -vE '^(-DMERCER_[A-Z_]*(=.*)?|-O2|-DNDEBUG|-std=(gnu|c)\+\+20|-c|-o|-I.*|.*main\.cpp(\.o)?)$' |
        grep -E '^-' || true)
    [[ -z $flags ]] || { echo "leaked into the consumer: $flags"; return 1; }
    rm -rf "$tree/prefix"
    quietly cmake --install "$tree" --prefix "$tree/prefix"
    installed=$(cd "$tree/prefix" && find . -type f)
    [[ $installed == ./bin/consumer ]] || { echo "installed with the consumer: $installed"; return 1; }
    quietly ctest --test-dir "$tree" -N
    grep -q 'Total Tests: 0' "$work/log" || { echo "Mercer's tests are among the consumer's"; return 1; }
}

build_shared() {
    quietly cmake -S "$source" -B "$shared" "${release[@]}" -DBUILD_SHARED_LIBS=ON \
        -DMERCER_BUILD_TESTS=OFF -DMERCER_BUILD_BENCH=OFF -DMERCER_BUILD_CLI=OFF
    quietly cmake --build "$shared" -j "$jobs"
    install_moved "$shared" shared
}

mkdir -p "$work"
attempt "install, static" install_moved "$build" static
attempt "find_package, static" by_find_package static
attempt "umbrella header" umbrella
attempt "add_subdirectory" by_add_subdirectory
attempt "install, shared" build_shared
attempt "find_package, shared" by_find_package shared
if command -v pkg-config >/dev/null; then
    attempt "pkg-config, static" by_pkg_config static --static
    attempt "pkg-config, shared" by_pkg_config shared
else
    echo "[skipped] no pkg-config on this machine"
fi
exit $((failures > 0))
