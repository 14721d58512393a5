#!/bin/sh
# A project without CMake:  build.sh PROGRAM [--static]   (--static where Mercer was installed as static libraries)
set -eu
cd "$(dirname "$0")"
# shellcheck disable=SC2046,SC2086 # lists of words
${CXX:-g++} -std=c++20 -O1 ../main.cpp $(pkg-config --cflags mercer) $(pkg-config --libs ${2:-} mercer) -o "$1"
