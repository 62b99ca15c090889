#!/bin/bash
# trainc profile on files and on the emulated GPU, and bench --against in CI.
# tests/cmd/test_profile.c checks the figures.
#
#   tests/e2e/profile.sh [TRAINC]      EMULATED=build/cc/emulated: also on the emulated GPU
. "$(dirname "$0")/lib.bash"
emulated=${EMULATED:+$(realpath -m "$EMULATED/..")/trainc-emulated}

"$trainc" synth shapes --out shapes --classes 4 --train 48 --val 8 --size 32 2>/dev/null || exit 1

tables() { # DEVICE: checks that the output has every part
  grep -Eq "^resnet20 on $1 .*: 3 steps$" log || fail "$1: no first line"
  grep -Eq '^step time: [0-9.]+ ms \(median\), [0-9.]+ img/s$' log || fail "$1: no step time"
  grep -Eq '^device limits: [0-9.]+ GB/s, [0-9]+ GFLOP/s' log || fail "$1: no limits"
  for layer in conv1 layer1.0.conv1 fc loss; do
    [ "$(grep -c "^$layer " log)" -ge 2 ] || fail "$1: $layer is not in the layers and the steps"
  done
  awk '/^kernel calls with the most/ { on = 1; getline; next } on && /above their floors/ { exit } on { n++ } END { exit n != 4 }' log ||
    fail "$1: --worst 4 is not 4 lines"
  for stage in read decode resize augment; do
    grep -Eq "^$stage +[0-9.]+ +[0-9.]+%$" log || fail "$1: no stage $stage"
  done
  grep -Eq '^  waiting for data +[0-9.]+ ms +[0-9.]+%$' log || fail "$1: no wait for data"
  grep -A1 '^what to change$' log | grep -Eq '^  ([0-9]+\. |nothing stands out)' || fail "$1: no advice"
}

common=(--cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --steps 3 --worst 4)
"$trainc" profile "${common[@]}" --device cpu --trace t.json >log 2>&1 || fail "on the CPU"
tables cpu
grep -q '"name":"loader worker [01]"' t.json || fail "no lane of a worker in the trace"
[ ! -e output ] || fail "something was saved"
"$trainc" profile "${common[@]}" --device cpu --brief >brief 2>&1 || fail "--brief"
[ "$(wc -l <brief)" -lt "$(wc -l <log)" ] || fail "--brief is as long"

# Advice comes with figures: on a device that is slow at 16 bits or has no fast kernels.
"$trainc" profile "${common[@]}" --device ref --steps 1 --brief >log 2>&1 || fail "on the reference"
expect_line 'plain-C reference kernels'
expect_line '^device limits: unknown$'
"$trainc" profile "${common[@]}" --device cpu --no-amp --brief --use-checkpoint >log 2>&1 || fail "fp32"
expect_line 'TRAIN.USE_CHECKPOINT computes activations twice'

refuses '--trace: ./nowhere/t.json. cannot be written' "$trainc" profile "${common[@]}" --trace /nowhere/t.json
"$trainc" profile --cfg "$here/configs/smoke/shapes.yaml" --data-path nowhere >log 2>&1
[ $? = 2 ] && [ "$(wc -l <log)" = 1 ] || fail "no such data"
"$trainc" profile "${common[@]}" --steps 0 >log 2>&1
[ $? = 2 ] || fail "--steps 0"
echo "ok: profile on the CPU"

if [ -n "$emulated" ] && [ -x "$emulated" ]; then
  "$emulated" profile "${common[@]}" --batch-size 2 --img-size 8 --device cuda --trace g.json --opts CUDNN.CACHE= >log 2>&1 ||
    fail "on the emulated GPU"
  tables cuda
  grep -Eq '^  launching and waiting for the GPU +[0-9.]+ ms' log || fail "GPU: no time of launches"
  grep -Eq '^  the host synchronized with the device [0-9]+ times' log || fail "GPU: no waits"
  grep -q 'timed separately' g.json || fail "GPU: no lane of its steps"
  # Checks the compute limit of this run, printed and in the JSON: tensor cores with 16 bits or
  # TF32, or no tensor cores (H200: 1071, 535, and 67 TFLOP/s).
  limit() { # MIN MAX ARGUMENT...: bounds in GFLOP/s
    "$emulated" profile --cfg "$here/configs/smoke/synthetic.yaml" --steps 1 --brief --batch-size 2 --img-size 8 --device cuda --json g.json "${@:3}" >log 2>&1 ||
      { tail log; fail "limit ${*:3}"; return; }
    printed=$(sed -n 's/^device limits: .* GB.s, \([0-9]*\) GFLOP.s.*/\1/p' log)
    awk -v low="$1" -v high="$2" -v printed="$printed" -F '[:,]' '
      /"flop_per_second"/ { n++; ok = $2 >= low * 1e9 && $2 <= high * 1e9 && int($2 / 1e9 + 0.5) == printed }
      END { exit !(ok && n == 1) }' g.json || { grep limits log; grep '"flop_per_second"' g.json; fail "limit ${*:3}"; }
  }
  limit 1000000 1100000 --opts CUDNN.CACHE=
  limit 500000 600000 --no-amp --opts CUDNN.CACHE=
  limit 60000 70000 --no-amp --opts CUDNN.CACHE= CUDNN.ALLOW_TF32=False
  echo "ok: profile on the emulated GPU"
else
  echo "profile on the emulated GPU: skipped, as it is not built"
fi

# ---- bench --against ----

bench=("$trainc" bench --cfg "$here/configs/smoke/synthetic.yaml" --device cpu --seconds 0.05)
result() { printf '{"trainc": "1", "images_per_second": %s, "dtype": "fp32", "batch": %s, "device": "cpu", "model": "resnet20"}\n' "$1" "$2"; }
result 1 8 >slow.json
result 1e9 8 >fast.json
result 100 8 >was.json
result 89 8 >is.json
result 100 16 >other.json
"${bench[@]}" --no-amp --against slow.json --json new.json >log 2>&1 || fail "faster than before"
grep -Eq "^[0-9.]+ img/s, before 1.0 \('slow.json'\): ratio [0-9.]+$" log || fail "no line of the comparison"
exits 1 'trainc: .* below --min-ratio 0.9' "${bench[@]}" --no-amp --against fast.json
"${bench[@]}" --no-amp --against fast.json --min-ratio 1e-12 >log 2>&1 || fail "--min-ratio"
against=("$trainc" bench --measured)
against() { "${against[@]}" "$1" --against "$2" "${@:3}" >log 2>&1; }
against is.json was.json
[ $? = 1 ] || fail "0.89 is enough"
against is.json was.json --min-ratio 0.88 || fail "0.89 is less than 0.88"
against was.json is.json --min-ratio 1.1 || fail "a ratio above 1"
refuses 'has batch 16' "${against[@]}" other.json --against was.json
refuses "cannot read 'nowhere.json'" "${against[@]}" new.json --against nowhere.json
echo '{"trainc": "1"}' >empty.json
refuses "neither a positive images_per_second" "${against[@]}" new.json --against empty.json
refuses 'no effect without --against' "${bench[@]}" --min-ratio 0.5
# Rows of the op table, and a training run.
"$trainc" bench --ops 'relu limit' --device cpu --json ops.json >log 2>&1 || fail "--ops"
against ops.json ops.json --min-ratio 1 || fail "rows against themselves"
sed 's/"ms":[0-9.e-]*/"ms":1e-9/' ops.json >faster.json
exits 1 '^relu limit, .*: ratio 0.000$' "${against[@]}" ops.json --against faster.json
against ops.json was.json
[ $? = 2 ] || fail "rows against a step"
"$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --device cpu --output out --epochs 1 --warmup-epochs 0 --result run.json >log 2>&1
against run.json run.json --min-ratio 1 || fail "results of training"
echo "ok: bench --against"

finish
