#!/bin/bash
# The stripped binary with the code of the GPU kernels has at most 25 MB. Skipped without them.
#
#   tests/e2e/size.sh [TRAINC]
set -u
trainc=$(realpath "${1:-trainc}")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-size.XXXXXX")
trap 'rm -rf "$dir"' EXIT

readelf -SW "$trainc" | grep -q '\.nv_fatbin' || { echo "no GPU code in $trainc"; exit 77; }
strip -o "$dir/stripped" "$trainc" || exit 1
size=$(stat -c %s "$dir/stripped")
[ "$size" -le 25000000 ] || { echo "FAILED: $size bytes stripped; at most 25000000"; exit 1; }
echo "$size bytes stripped"
