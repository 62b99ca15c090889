#!/bin/bash
# --early-stop N: a run ends N epochs after its best one and saves its last checkpoint. A restart
# says so; with a larger N it continues. A run that keeps improving is not stopped.
#
#   tests/e2e/early_stop.sh [TRAINC]
set -u
trainc=$(realpath "${1:-./trainc}")
here=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-early.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }
epochs() { wc -l <$run/summary.csv | awk '{print $1 - 1}'; }

# With a learning rate of 0, the first validation (epoch 1) remains the best.
train=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --epochs 9 --lr 0 --warmup-epochs 0 --output out
  --opts TRAIN.WARMUP_LR=0 TRAIN.MIN_LR=0 TRAIN.SCALE_LR=False "TRAIN.FREEZE=['*bn*']")
run=out/resnet20/default
for again in 1 2; do
  "${train[@]}" --early-stop 3 --result result.json >log 2>&1 || { cat log; fail "exit code"; }
  [ "$(epochs)" = 4 ] || { cat log; fail "$(epochs) epochs, not 4"; }
  grep -q "early stopping: no better score in 3 epochs since epoch 1 (TRAIN.EARLY_STOP)" log || { cat log; fail "not said ($again)"; }
  grep -q '"epochs": 4,' result.json && grep -q '"best_epoch": 0,' result.json || fail "the result: $(cat result.json)"
done
grep -q "resumed from" log || fail "the second start does not resume"
# Epochs without a score do not count. An epoch that MAX_STEPS ends is validated once, no matter
# how often the run is restarted.
for again in 1 2; do
  "${train[@]}" --early-stop 1 --output sparse TRAIN.EVAL_FREQ=2 >log 2>&1 || { cat log; fail "sparse: exit code"; }
  [ "$(wc -l <sparse/resnet20/default/summary.csv)" = 5 ] || fail "sparse: stopped by an epoch without a score ($again)"
done
updates=$(sed -n 's/.* \([0-9]*\) steps of .*/\1/p' log)
for again in 1 2 3; do
  "${train[@]}" --max-steps $((3 * updates)) --output late TRAIN.EVAL_FREQ=2 >log 2>&1 || { cat log; fail "late: exit code"; }
  [ "$(grep -c '"kind":"val"' late/resnet20/default/metrics.jsonl)" = 2 ] ||
    { grep '"kind":"val"' late/resnet20/default/metrics.jsonl; fail "late: validated again ($again)"; }
  [ "$(ls late/resnet20/default/ckpt_* | wc -l)" = "$(ls late/resnet20/default/ckpt_epoch_* | wc -l)" ] || fail "late: two checkpoints of one update"
done
"${train[@]}" --early-stop 5 >log 2>&1 || { cat log; fail "a larger number"; }
[ "$(epochs)" = 6 ] || fail "a larger number: $(epochs) epochs"
"${train[@]}" >log 2>&1 || { cat log; fail "without"; }
[ "$(epochs)" = 9 ] || fail "without: $(epochs) epochs"

# --best-metric: "best" is then the smallest loss of the weights or the EMA weights, also in a
# resumed run. Scores of the other task are rejected.
learn=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --epochs 6 --output metric)
least() { # SUMMARY: "epoch loss" of the smallest val_loss or ema_loss
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "val_loss" || $i == "ema_loss") at[i] }
    NR > 1 { for (i in at) if ($i != "" && (best == "" || $i + 0 < best + 0)) { best = $i; epoch = $1 } }
    END { print epoch, best }' "$1"
}
"${learn[@]}" --best-metric loss --result loss.json >log 2>&1 || { cat log; fail "--best-metric loss"; }
read -r epoch loss < <(least metric/resnet20/default/summary.csv)
grep -q "\"best_epoch\": $epoch," loss.json && grep -q "\"best_loss\": ${loss%??}" loss.json ||
  { cat metric/resnet20/default/summary.csv; grep best loss.json; fail "the best loss is $loss of epoch $epoch"; }
grep -q "Best loss: .* (epoch $((epoch + 1)))" log || { cat log; fail "the log does not say the best loss"; }
"${learn[@]}" --best-metric loss --result again.json >log 2>&1 && cmp -s <(grep best_ loss.json) <(grep best_ again.json) ||
  { cat log; fail "a run that is started again has another best"; }
"${learn[@]}" --best-metric miou --tag x >log 2>&1
[ $? = 2 ] && grep -q "TRAIN.BEST_METRIC miou is a score of label maps" log || { cat log; fail "a score of the other task"; }

[ $fails = 0 ] && echo "early_stop: passed" || { echo "early_stop: $fails failed"; exit 1; }
