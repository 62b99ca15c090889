#!/bin/bash
# Whole models on the emulated GPU: against PyTorch's numbers, and the effect of training steps on
# the weights. The second half runs with lazy streams and in another order.
#
#   tests/emulator/models.sh [FOLDER]
set -u
tests=${1:-${EMULATED:-build/cc/emulated}}/tests
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-models.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# Two at a time, because a program keeps one core busy.
run() { # settings, program
  local name=${*: -1}

  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
  name=$dir/${name##*/}
  {
    env "$@" >"$name.log" 2>&1 || echo "FAILED: $*" >"$name.failed"
  } &
}

run TEST_BACKENDS=cuda "$tests/models/test_resnet_golden"
run TEST_BACKENDS=cuda "$tests/models/test_segment_golden"
run TEST_BACKENDS=cuda "$tests/models/test_transformer_golden"
run TEST_BACKENDS=cuda "$tests/pt2/test_pt2_golden"
run TEST_BACKENDS=cuda "$tests/layers/test_layers_golden"
for program in "$tests"/{session,train}/test_*[a-z]; do
  run TEST_DEVICE=cuda EMULATOR_LAZY=1 EMULATOR_ORDER=reverse "$program"
done
wait

fails=0
for log in "$dir"/*.log; do
  sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1 passed/p' "$log"
  [ -e "${log%.log}.failed" ] || continue
  tail -60 "$log"
  cat "${log%.log}.failed"
  fails=$((fails + 1))
done

[ $fails = 0 ] && echo "models: passed" || { echo "models: $fails failed"; exit 1; }
