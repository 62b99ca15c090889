#!/bin/bash
# Whole models on the emulated GPU: against PyTorch's figures, and what training steps
# must do to the weights. The second half runs with late streams and in another order.
#
#   tests/emulator/models.sh [FOLDER]
set -u
tests=${1:-${EMULATED:-build/cc/emulated}}/tests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
fails=0

run() { # settings, program
  env "$@" >"$log" 2>&1 || { tail -60 "$log"; echo "FAILED: $*"; fails=$((fails + 1)); }
  sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1 passed/p' "$log"
}

run TEST_BACKENDS=cuda "$tests/test_models_golden"
run TEST_BACKENDS=cuda "$tests/test_erfnet_golden"
for program in "$tests"/test_train_*[a-z]; do
  run TEST_DEVICE=cuda EMULATOR_LAZY=1 EMULATOR_ORDER=reverse "$program"
done

[ $fails = 0 ] && echo "models: passed" || { echo "models: $fails failed"; exit 1; }
