#!/bin/bash
# --sched plateau: the learning rate falls when scores stop improving, and the log says so. A run
# that is stopped and resumed, also within an epoch, has the same bits and learning rates.
#
#   tests/e2e/plateau.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

rates() { jq 'select(.kind == "train").lr' "$1"; }

train=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --threads 1 -j 0 --epochs 12 --warmup-epochs 1
  --sched plateau --patience-epochs 0 --decay-rate 0.5 --min-lr 1e-4 --output out --print-freq 1
  --opts TRAIN.SAVE_STEPS=5)
run=out/resnet20/default
"${train[@]}" >log 2>&1 || fail "a whole run"
mv $run whole
lowered=$(grep -c 'no better score in more than 0 epochs: reducing the learning rate' log)
[ "$lowered" -ge 3 ] || fail "the rate was lowered $lowered times"
[ "$(rates whole/metrics.jsonl | sort -g | tail -1)" = 0.05 ] || fail "the highest rate is not BASE_LR"
rates whole/metrics.jsonl | tail -88 | awk '$1 > last && NR > 1 || $1 < 1e-4 { exit 1 } { last = $1 }' ||
  { rates whole/metrics.jsonl | uniq; fail "the rate rises after the warm-up, or falls below MIN_LR"; }
[ "$(rates whole/metrics.jsonl | sort -u | wc -l)" -ge $((8 + lowered)) ] || fail "the device has other rates than the log"

for step in 13 30 47 58 66 83; do
  "${train[@]}" >log 2>&1 &
  pid=$!
  until grep -q "\"step\":$step," $run/metrics.jsonl 2>/dev/null; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.01
  done
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
done
"${train[@]}" >log 2>&1 || fail "to the end"
cmp -s <(rates whole/metrics.jsonl) <(rates $run/metrics.jsonl) || fail "resumed: other rates"
for f in last best; do
  cmp -s whole/$f.safetensors $run/$f.safetensors || fail "resumed: another $f"
done

"${train[@]}" --tag refused --decay-rate 1 >log 2>&1
[ $? = 2 ] && grep -q 'DECAY_RATE 1: plateau needs one between 0 and 1' log || fail "--decay-rate 1"

finish
