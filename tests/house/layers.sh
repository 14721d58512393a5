#!/usr/bin/env bash
# layers.sh [SOURCE_DIR | --self-test]: the layers include downward only (cli > models > attention > autograd > engine).
#
#   - "…" includes are rooted at a layer, and the layer is not above;
#   - nlohmann/json only in engine/io, models and cli, and in no header of engine, autograd, attention;
#   - no header includes oneTBB, OpenBLAS or MPFR, or the list ops.def;
#   - attention/continuous and attention/smoother do not know each other.
set -euo pipefail

check() {
    cd "$1"
    local layers=() layer
    for layer in engine autograd attention models cli; do
        if [[ -d $layer ]]; then layers+=("$layer"); fi
    done
    { grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "${layers[@]}" \
        --include='*.h' --include='*.inc' --include='*.inl' --include='*.def' --include='*.cpp' --include='*.cu' --include='*.cuh' || true; } |
        awk '
            BEGIN { split("engine autograd attention models cli", names, " "); for (i in names) height[names[i]] = i }
            function bad(why) { print place ": " why ": " target; faults++ }
            {
                includes++
                split($0, field, ":"); file = field[1]; place = file ":" field[2]
                quoted = ($0 ~ /include[ \t]*"/)
                target = $0; sub(/^[^"<]*["<]/, "", target); sub(/[">].*/, "", target)
                layer = file; sub(/\/.*/, "", layer)
                header = file ~ /\.(h|cuh|inc)$/
                root = target; sub(/\/.*/, "", root)

                if (quoted && !(root in height)) bad("not rooted at a layer")
                if (root in height && height[root] + 0 > height[layer] + 0) bad("upward include")
                if (target ~ /^nlohmann\//) {
                    if (file !~ /^(engine\/io|models|cli)\//) bad("nlohmann/json does not belong here")
                    else if (header && layer == "engine") bad("nlohmann/json in a public header")
                }
                if (header && target ~ /^((oneapi\/)?tbb\/|cblas|lapack|openblas|mpfr)/) bad("a dependency in a public header")
                if (header && target ~ /ops\.def$/) bad("the list of operations in a public header")
                if (file ~ /^attention\/continuous\// && target ~ /^attention\/smoother\//) bad("continuous knows smoother")
                if (file ~ /^attention\/smoother\// && target ~ /^attention\/continuous\//) bad("smoother knows continuous")
            }
            END { if (!includes) { print "no include found in " ENVIRON["PWD"]; exit 1 }
                  if (!faults) print includes " includes, all downward"; exit faults > 0 }'
}

# put FILE LINE: one file of the sample
put() { mkdir -p "$(dirname "$1")" && printf '%s\n' "$2" >"$1"; }

self_test() {
    local file line
    sample=$(mktemp -d)
    trap 'rm -rf "$sample"' EXIT
    cd "$sample"
    mkdir -p engine autograd attention models cli
    put cli/main.cpp '#include "models/task.h"'
    put engine/io/json.cpp '  #  include <nlohmann/json.hpp>'
    put attention/implicit/a.cpp '#include "attention/smoother/s.h"'
    put engine/ops/table.cpp '#include "engine/ops/ops.def"'
    (check "$sample") >/dev/null || { echo "self-test: a clean sample was refused"; exit 1; }
    while read -r file line; do
        put "$file" "$line"
        if (check "$sample") >/dev/null; then echo "self-test: not seen: $file: $line"; exit 1; fi
        rm "$file"
    done <<'SAMPLES'
engine/up.h #include "autograd/tape.h"
autograd/up.cpp #include "cli/main.h"
models/up.inl #include "cli/report.h"
attention/flat.cpp #include "kernel.h"
engine/cpu/near.cpp # include "../tensor.h"
engine/ops/json.cpp #include <nlohmann/json.hpp>
engine/io/json.h #include <nlohmann/json_fwd.hpp>
autograd/json.cpp #include "nlohmann/json.hpp"
engine/threads.h #include <tbb/task_arena.h>
engine/threads.h #include <oneapi/tbb/task_arena.h>
engine/linalg.h #include <cblas.h>
engine/functions.h #include "engine/ops/ops.def"
attention/continuous/c.cpp #include "attention/smoother/s.h"
attention/smoother/s.h #include "attention/continuous/c.h"
SAMPLES
    echo "self-test passed"
}

if [[ ${1:-} == --self-test ]]; then
    self_test
else
    check "${1:-$(dirname "$0")/../..}"
fi
