#!/bin/bash
# The op table on the emulated GPU, against the reference, in several orders of threads, blocks,
# and streams. Each order must give the same bits: a kernel whose result depends on the order lacks
# a barrier, or adds floats with atomics. Runs once: TF32, engines of one operation, the optimizers
# against PyTorch and timm, and residual sums of layer norms.
#
#   tests/emulator/ops.sh [FOLDER]
folder=$(realpath "${1:-${EMULATED:-build/cc/emulated}}")
. "$(dirname "$0")/../e2e/lib.bash" "$folder/../trainc-emulated"
cd "$here" || exit 1 # where the programs look for golden files

# `few`: one multiprocessor, so a thread of a reduction sums many rows. Its sums are split
# differently and have different bits. Every row of the table then has more rows than threads, so
# cases that exist to test this are left out, here and below.
run_one() { # name, settings
  local name=$1 program=$folder/tests/ops/test_ops
  shift
  env "$@" TEST_BACKENDS=cuda TEST_NCCL=1 TEST_FILTER=test_backends TEST_VALUES="$dir/$name" \
    "$program" >"$dir/$name.log" 2>&1 && : >"$dir/$name.passed"
}

run() { # two at a time
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
  run_one "$@" &
}

same() { # name, as, [types that were not run]
  [ -e "$dir/$1.passed" ] || { cat "$dir/$1.log"; fail "$1"; }
  grep -v "^cuda ${3:-none}" "$dir/$2" | cmp -s "$dir/$1" - || {
    fail "$1: other results than $2"
    diff "$dir/$2" "$dir/$1" | sed -n 's/^< \(.*\) [0-9a-f]*$/\1/p' | head -20
  }
}

strict=TEST_DETERMINISTIC=1
# A kernel is the same template in each type, so all orders but one run in one type.
run forward $strict EMULATOR_ORDER=forward
run shuffle $strict TEST_ONLY_DTYPE=bf16 EMULATOR_ORDER=shuffle:1 EMULATOR_PROTECT=1 EMULATOR_LAZY=1
run ahead $strict TEST_ONLY_DTYPE=fp32 EMULATOR_ORDER=ahead
export TEST_NO_SLOW=1
run few $strict TEST_ONLY_DTYPE=bf16 EMULATOR_MULTIPROCESSORS=1 EMULATOR_CACHE=2K EMULATOR_ORDER=reverse
run few-ahead $strict TEST_ONLY_DTYPE=bf16 EMULATOR_MULTIPROCESSORS=1 EMULATOR_CACHE=2K EMULATOR_ORDER=ahead
run tf32 TEST_ONLY_DTYPE=fp32 TEST_TF32=1
run plain TEST_ONLY_DTYPE=fp32 EMULATOR_PLAIN=1
wait
[ -s "$dir/forward" ] || fail "nothing was compared"
grep ' rows, ' "$dir/forward.log"
same forward forward
same shuffle forward 'fp\(16\|32\)'
same ahead forward '\(fp\|bf\)16'
same few few
same few-ahead few
for name in tf32 plain; do same $name $name; done
changed=$(diff "$dir/tf32" "$dir/forward" | grep -c '^< cuda fp32: \(conv2d\|linear\)')
[ "$changed" -gt 20 ] || fail "tf32: products do not use it"

# Attention forward by cuDNN and backward by our kernels, the reverse, and with an older cuDNN:
# each with the number of cuDNN engines in the table, 2 forward and 6 for the gradient.
attention() { # name, engines, settings
  local name=$1 engines=$2
  shift 2
  run_one $name "$@" TEST_ROWS='attention*' TEST_ONLY_DTYPE=fp16 EMULATOR_COMPILED="$dir/$name.list"
  [ -e "$dir/$name.passed" ] || { cat "$dir/$name.log"; fail "$name"; }
  [ "$(grep -x 'engine [26]' "$dir/$name.list" 2>/dev/null | sort -u | xargs)" = "$engines" ] || fail "$name: other engines than '$engines'"
}
attention both "engine 2 engine 6"
attention only-forward "engine 2" EMULATOR_ATTENTION=forward
attention only-gradient "engine 6" EMULATOR_ATTENTION=gradient
attention masked "engine 2 engine 6" EMULATOR_CUDNN=91400
attention unmasked "engine 2 engine 6" EMULATOR_CUDNN=91501
attention wrong "" EMULATOR_CUDNN=91001
same masked both
cmp -s "$dir/only-gradient" "$dir/both" && fail "cuDNN's forward pass of attention has the bits of ours"

TEST_BACKENDS=cuda "$folder/tests/ops/test_optim" >"$dir/optim.log" 2>&1 || {
  cat "$dir/optim.log"
  fail "test_optim"
}

env -u TEST_NO_SLOW TEST_BACKENDS=cuda "$folder/tests/ops/test_residual" >"$dir/residual.log" 2>&1 || {
  cat "$dir/residual.log"
  fail "test_residual"
}

finish
