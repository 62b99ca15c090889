#!/bin/bash
# The op table on the emulated GPU in fp32, against the reference: once, in an unusual order. ops.sh
# compares many orders bit by bit, in every type. TEST_NO_SLOW (set with sanitizers) leaves out what
# other scripts check: accesses beyond memory, residual sums.
#
#   tests/emulator/table.sh [PROGRAM]
set -eu
program=${1:-${EMULATED:-build/cc/emulated}/tests/ops/test_ops}
tests=$(dirname "$program")
log=$(mktemp "${TMPDIR:-/tmp}/trainc-table.XXXXXX")
trap 'rm -f "$log"' EXIT
export TEST_BACKENDS=cuda
protect=1
[ -z "${TEST_NO_SLOW:-}" ] || protect=0

run() { # WHAT, settings, program
  env "${@:2}" >"$log" 2>&1 || { cat "$log"; echo "FAILED: $1"; exit 1; }
}

run "the op table" EMULATOR_ORDER=shuffle:1 EMULATOR_LAZY=1 EMULATOR_PROTECT=$protect EMULATOR_CACHE=2K \
  TEST_NCCL=1 TEST_ONLY_DTYPE=fp32 TEST_FILTER=test_backends "$program"
[ "$(grep -c '^cuda .* rows, ' "$log")" = 1 ] || { cat "$log"; echo "FAILED: other types than one"; exit 1; }
run "shares of a batch" "$tests/test_share"
[ $protect = 0 ] || run "residual sums" "$tests/test_residual"
