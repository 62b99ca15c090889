#!/bin/bash
# The op table on the emulated GPU, against the reference, in several orders of threads,
# blocks and streams. Each must give the same bits: a kernel whose result depends on who
# comes first lacks a barrier, or adds floats by atomics. And the optimizers against
# PyTorch and timm.
#
#   tests/emulator/ops.sh [PROGRAM]
set -u
program=${1:-${EMULATED:-build/cc/emulated}/tests/ops/test_ops}
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-ops.XXXXXX")
trap 'rm -rf "$dir"' EXIT
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }

# Two at a time. `few`: one multiprocessor, so a thread of a reduction takes many rows;
# its sums are cut in another way, so it has its own bits.
run() { # name, settings
  name=$1
  shift
  env "$@" TEST_BACKENDS=cuda TEST_FILTER=test_backends TEST_VALUES="$dir/$name" \
    "$program" >"$dir/$name.log" 2>&1 && : >"$dir/$name.passed"
}

same() { # name, as
  [ -e "$dir/$1.passed" ] || { cat "$dir/$1.log"; fail "$1"; }
  cmp -s "$dir/$1" "$dir/$2" || {
    fail "$1: other results than $2"
    diff "$dir/$2" "$dir/$1" | sed -n 's/^< \(.*\) [0-9a-f]*$/\1/p' | head -20
  }
}

run forward EMULATOR_ORDER=forward &
run protect EMULATOR_ORDER=shuffle:1 EMULATOR_PROTECT=1
run lazy EMULATOR_ORDER=reverse EMULATOR_LAZY=1 &
run ahead EMULATOR_ORDER=ahead
run few EMULATOR_MULTIPROCESSORS=1 &
run few-ahead EMULATOR_MULTIPROCESSORS=1 EMULATOR_ORDER=ahead
wait
run tf32 TEST_TF32=1 &
run plain EMULATOR_PLAIN=1
wait
[ -s "$dir/forward" ] || fail "nothing was compared"
grep ' rows, ' "$dir/forward.log"
for name in forward protect lazy ahead; do same $name forward; done
for name in few few-ahead; do same $name few; done
same tf32 tf32
same plain plain
changed=$(diff "$dir/tf32" "$dir/forward" | grep -c '^< cuda fp32: \(conv2d\|linear\)')
[ "$changed" -gt 20 ] || fail "tf32: products do not use it"

TEST_BACKENDS=cuda "${program%/*}/test_optim" >"$dir/optim.log" 2>&1 || {
  cat "$dir/optim.log"
  fail "test_optim"
}

[ $fails = 0 ] && echo "ops: passed" || { echo "ops: $fails failed"; exit 1; }
