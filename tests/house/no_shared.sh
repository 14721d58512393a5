#!/usr/bin/env bash
# no_shared.sh [SOURCE_DIR | --self-test]: nothing needs a folder beside the checkout.
#
# A test may look at such data where it exists, if the same file says visibly that it skips where it does not.
set -euo pipefail

check() {
    cd "$1"
    local beside='\.\./''shared' file faults=0
    while IFS= read -r file; do
        if [[ $file == ./tests/* ]] && grep -qE '\[skipped\]|exit 77' "$file"; then continue; fi
        grep -nE "$beside" "$file" /dev/null
        faults=$((faults + 1))
    done < <(grep -rlIE "$beside" . --exclude-dir=build --exclude-dir=.git || true)
    if ((faults)); then return 1; fi
    echo "no file needs a folder beside the checkout"
}

self_test() {
    sample=$(mktemp -d)
    trap 'rm -rf "$sample"' EXIT
    mkdir -p "$sample"/{tests,models,build}
    local path='../''shared/data'
    echo "open(\"$path\"); // else: [skipped] no data" >"$sample/tests/ok.cpp"
    echo "$path" >"$sample/build/log"
    (check "$sample") >/dev/null || { echo "self-test: a clean sample was refused"; exit 1; }
    local file
    for file in models/reader.cpp tests/silent.cpp README.md; do
        echo "see ../$path" >"$sample/$file"
        if (check "$sample") >/dev/null; then echo "self-test: not seen in $file"; exit 1; fi
        rm "$sample/$file"
    done
    echo "self-test passed"
}

if [[ ${1:-} == --self-test ]]; then
    self_test
else
    check "${1:-$(dirname "$0")/../..}"
fi
