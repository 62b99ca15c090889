#!/bin/bash
# The op table on the emulated GPU, against the reference, in several orders of threads,
# blocks and streams. Each must give the same bits: a kernel whose result depends on who
# comes first lacks a barrier, or adds floats by atomics.
#
#   tests/emulator/ops.sh [PROGRAM]
set -u
program=${1:-${EMULATED:-build/cc/emulated}/tests/test_ops}
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-ops.XXXXXX")
trap 'rm -rf "$dir"' EXIT
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }

run() { # name, settings
  name=$1
  shift
  env "$@" TEST_BACKENDS=cuda TEST_FILTER=test_backends TEST_VALUES="$dir/$name" \
    "$program" >"$dir/log" 2>&1 || { cat "$dir/log"; fail "$name"; }
  [ "$name" != forward ] || grep ' rows, ' "$dir/log"
  cmp -s "$dir/$name" "$dir/forward" || {
    fail "$name: other results than forward"
    diff "$dir/forward" "$dir/$name" | sed -n 's/^< \(.*\) [0-9a-f]*$/\1/p' | head -20
  }
}

run forward EMULATOR_ORDER=forward
run protect EMULATOR_ORDER=shuffle:1 EMULATOR_PROTECT=1
run lazy EMULATOR_ORDER=reverse EMULATOR_LAZY=1
run ahead EMULATOR_ORDER=ahead
[ -s "$dir/forward" ] || fail "nothing was compared"

[ $fails = 0 ] && echo "ops: passed" || { echo "ops: $fails failed"; exit 1; }
