#!/usr/bin/env bash
# Unpacks the arm64 libraries of packages.txt into build/arm64-sysroot, for aarch64.cmake.
#
# They are downloaded with an apt state of their own and unpacked, not installed: the system keeps its single
# architecture, its packages and their versions, and no root is needed. The C and C++ libraries are those of the
# cross compiler; nothing here shadows them.
set -euo pipefail
cd "$(dirname "$0")/../.."
source cmake/packages.sh

root=$PWD/build/arm64-sysroot
wanted=$(packages_of arm64-sysroot)
if [[ -f $root/complete && $(<"$root/complete") == "$wanted" ]]; then exit 0; fi

echo "Unpacking $(wc -w <<<"$wanted") arm64 package(s) into build/arm64-sysroot"
rm -rf "$root"
mkdir -p "$root"/apt/{lists,cache/archives}/partial "$root/debs"
: >"$root/apt/status"
private=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
    -o Acquire::Languages=none -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status"
    -o Dir::State::lists="$root/apt/lists" -o Dir::Cache="$root/apt/cache")
# An update may fail for a source without arm64; the download then tells.
apt-get "${private[@]}" update >"$root/apt.log" 2>&1 || true
if ! (cd "$root/debs" && xargs apt-get "${private[@]}" download <<<"$wanted") >>"$root/apt.log" 2>&1; then
    tail -n 20 "$root/apt.log" >&2
    exit 1
fi
for package in "$root"/debs/*.deb; do dpkg -x "$package" "$root"; done

# What the alternatives system would have linked.
libraries=$root/usr/lib/aarch64-linux-gnu
for file in "$libraries"/openblas-serial/*.so* "$libraries"/openblas-serial/*.a; do
    ln -sf "openblas-serial/${file##*/}" "$libraries/${file##*/}"
done
ln -sf ../openblas-serial/pkgconfig/openblas.pc "$libraries/pkgconfig/openblas.pc"
ln -sf openblas-serial/openblas_config.h openblas-serial/cblas.h "$root/usr/include/aarch64-linux-gnu/"

rm -rf "$root/debs" "$root/apt"
printf '%s\n' "$wanted" >"$root/complete"
