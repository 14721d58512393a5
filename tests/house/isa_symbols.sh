#!/usr/bin/env bash
# isa_symbols.sh BUILD_DIR [NM] | --self-test: an object of one instruction set defines nothing that others may share, and
# no formula that its kernels call instead of containing it.
#
# The objects of mercer_kernels() lie in directories …_kernels_<isa>.dir. Every global or weak symbol they define is in
# namespace mercer::<isa> (or one that begins with mercer_user): otherwise the linker could merge a function compiled
# for AVX-512 with one of the same name in an ordinary file, and the program would die on a machine without it.
set -euo pipefail

check() {
    local build=$1 nm=${2:-nm} isa object objects count=0 faults=0 foreign called
    for isa in scalar scalar_fma avx2 avx512 neon; do
        objects=$(find "$build" -path "*_kernels_$isa.dir/*" -name '*.o')
        for object in $objects; do
            count=$((count + 1))
            # Mangled names: a template's demangled one begins with its return type. The compilers' own DW.ref.* and
            # __clang_call_terminate hold no instruction of an instruction set.
            foreign=$("$nm" --defined-only "$object" | awk -v isa="$isa" '
                $2 ~ /^[A-TV-Zuvwi]$/ && $3 !~ /^DW\.ref\./ && $3 != "__clang_call_terminate" {
                    own = "^_Z(T[VTISHW]|GV|GR)?Z*N[VKRO]*6mercer" length(isa) isa
                    user = "^_Z(T[VTISHW]|GV|GR)?Z*N[VKRO]*[0-9]+mercer_user"
                    if ($3 !~ own && $3 !~ user) print "  " $3
                }' | c++filt)
            if [[ -n $foreign ]]; then
                echo "$object defines outside mercer::$isa:"
                echo "$foreign"
                faults=$((faults + 1))
            fi
            # Of derivatives that call it, each computes all of it.
            called=$("$nm" --defined-only "$object" | c++filt |
                { grep -oE '[a-z_0-9]*_formula::(\{lambda\([^)]*\)#[0-9]+\}|\$_[0-9]+)::operator\(\)' || true; } | sort -u)
            if [[ -n $called ]]; then
                echo "$object calls instead of inlining:"
                echo "$called"
                faults=$((faults + 1))
            fi
        done
    done
    if ((count == 0)); then echo "no kernel object below $build"; return 1; fi
    if ((faults)); then return 1; fi
    echo "$count kernel objects define nothing outside their namespace, and call no formula"
}

self_test() {
    local dir line
    sample=$(mktemp -d)
    trap 'rm -rf "$sample"' EXIT
    dir=$sample/mercer_engine_kernels_avx2.dir
    mkdir -p "$dir"
    compile() { "${CXX:-g++}" -std=c++20 -O0 -x c++ -c - -o "$dir/a.cpp.o"; }

    if check "$sample" >/dev/null; then echo "self-test: an empty build was accepted"; exit 1; fi
    compile <<'CPP'
namespace mercer::avx2 {
struct Base { virtual ~Base() = default; virtual int f() const { static int n = 0; return ++n; } };
template <class T> T twice(T x) { return [](T y) { return y + y; }(x); }
template int twice<int>(int);
extern const int table;
const int table = 1;
int use() { Base b; return b.f(); }
}
namespace mercer_user::formula { int f() { return 0; } }
static int local() { return 1; }
int (*volatile unused)() = nullptr;
CPP
    if check "$sample" >/dev/null; then echo "self-test: a global variable was accepted"; exit 1; fi
    compile <<'CPP'
namespace mercer::avx2 {
struct Base { virtual ~Base() = default; virtual int f() const { static int n = 0; return ++n; } };
template <class T> T twice(T x) { return [](T y) { return y + y; }(x); }
template int twice<int>(int);
int use() { Base b; return b.f(); }
}
namespace mercer_user::formula { int f() { return 0; } }
static int local() { return 1; }
namespace { int hidden() { return local(); } }
namespace mercer::avx2 { int more() { return hidden(); } }
CPP
    check "$sample" >/dev/null || { echo "self-test: a clean object was refused"; check "$sample"; exit 1; }
    while IFS= read -r line; do
        printf '%b\n' "$line" | compile
        if check "$sample" >/dev/null; then echo "self-test: not seen: $line"; exit 1; fi
    done <<'SAMPLES'
inline int shared() { return 1; } namespace mercer::avx2 { int f() { return shared(); } }
namespace mercer { inline int shared() { return 1; } namespace avx2 { int f() { return shared(); } } }
namespace mercer::scalar { int f() { return 1; } }
namespace mercer::avx20 { int f() { return 1; } }
extern "C" int mercer_avx2_f() { return 1; }
namespace mercer::avx2 { static constexpr auto half_formula = [](auto x) { return x / 2; }; int f() { return half_formula(2); } }
#include <vector>\nnamespace mercer::avx2 { int f() { std::vector<int> v(3); return int(v.size()); } }
SAMPLES
    echo "self-test passed"
}

if [[ ${1:-} == --self-test ]]; then
    self_test
else
    check "$@"
fi
