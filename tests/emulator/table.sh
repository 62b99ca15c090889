#!/bin/bash
# The op table on the emulated GPU in fp32, against the reference: once, in an unusual order. ops.sh
# compares many orders bit by bit, in every type.
#
#   tests/emulator/table.sh [PROGRAM]
set -eu
program=${1:-${EMULATED:-build/cc/emulated}/tests/ops/test_ops}
log=$(mktemp "${TMPDIR:-/tmp}/trainc-table.XXXXXX")
trap 'rm -f "$log"' EXIT

EMULATOR_ORDER=shuffle:1 EMULATOR_LAZY=1 EMULATOR_PROTECT=1 EMULATOR_CACHE=2K TEST_BACKENDS=cuda TEST_NCCL=1 TEST_ONLY_DTYPE=fp32 \
  TEST_FILTER=test_backends "$program" >"$log" 2>&1 || { cat "$log"; exit 1; }
[ "$(grep -c '^cuda .* rows, ' "$log")" = 1 ] || { cat "$log"; echo "FAILED: other types than one"; exit 1; }
TEST_BACKENDS=cuda "$(dirname "$program")/test_share" >"$log" 2>&1 || { cat "$log"; echo "FAILED: shares of a batch"; exit 1; }
# Rows marked as slow count here in any case: they are quick among sums and norms.
env -u TEST_NO_SLOW TEST_BACKENDS=cuda "$(dirname "$program")/test_residual" >"$log" 2>&1 || {
  cat "$log"
  echo "FAILED: residual sums"
  exit 1
}
