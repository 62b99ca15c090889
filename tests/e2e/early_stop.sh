#!/bin/bash
# --early-stop N: a run ends N epochs after its best one and saves its last checkpoint. A restart
# says so; with a larger N it continues. A run that keeps improving is not stopped.
#
#   tests/e2e/early_stop.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

epochs() { wc -l <$run/summary.csv | awk '{print $1 - 1}'; }

# With a learning rate of 0, the first validation (epoch 1) remains the best.
train=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --epochs 9 --lr 0 --warmup-epochs 0 --output out
  --opts TRAIN.WARMUP_LR=0 TRAIN.MIN_LR=0 TRAIN.SCALE_LR=False "TRAIN.FREEZE=['*bn*']")
run=out/resnet20/default
for again in 1 2; do
  "${train[@]}" --early-stop 3 --result result.json >log 2>&1 || fail "exit code"
  [ "$(epochs)" = 4 ] || fail "$(epochs) epochs, not 4"
  grep -q "early stopping: no better score in 3 epochs since epoch 1 (TRAIN.EARLY_STOP)" log || fail "not said ($again)"
  [ "$(json_value result.json epochs)" = 4 ] && [ "$(json_value result.json best_epoch)" = 0 ] ||
    fail "the result: $(cat result.json)"
done
expect_line "resumed from"
# Epochs without a score do not count. An epoch that MAX_STEPS ends is validated once, no matter
# how often the run is restarted.
for again in 1 2; do
  "${train[@]}" --early-stop 1 --output sparse TRAIN.EVAL_FREQ=2 >log 2>&1 || fail "sparse: exit code"
  [ "$(wc -l <sparse/resnet20/default/summary.csv)" = 5 ] || fail "sparse: stopped by an epoch without a score ($again)"
done
updates=$(sed -n 's/.* \([0-9]*\) steps of .*/\1/p' log)
validations() { jq -c 'select(.kind == "val")' late/resnet20/default/metrics.jsonl; }
for again in 1 2 3; do
  "${train[@]}" --max-steps $((3 * updates)) --output late TRAIN.EVAL_FREQ=2 >log 2>&1 || fail "late: exit code"
  [ "$(validations | wc -l)" = 2 ] || { validations; fail "late: validated again ($again)"; }
  [ "$(ls late/resnet20/default/ckpt_* | wc -l)" = "$(ls late/resnet20/default/ckpt_epoch_* | wc -l)" ] || fail "late: two checkpoints of one update"
done
"${train[@]}" --early-stop 5 >log 2>&1 || fail "a larger number"
[ "$(epochs)" = 6 ] || fail "a larger number: $(epochs) epochs"
"${train[@]}" >log 2>&1 || fail "without"
[ "$(epochs)" = 9 ] || fail "without: $(epochs) epochs"

# --best-metric: "best" is then the smallest loss of the weights or the EMA weights, also in a
# resumed run. Scores of the other task are rejected.
learn=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --epochs 6 --output metric)
least() { # SUMMARY: "epoch loss" of the smallest val_loss or ema_loss
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "val_loss" || $i == "ema_loss") at[i] }
    NR > 1 { for (i in at) if ($i != "" && (best == "" || $i + 0 < best + 0)) { best = $i; epoch = $1 } }
    END { print epoch, best }' "$1"
}
"${learn[@]}" --best-metric loss --result loss.json >log 2>&1 || fail "--best-metric loss"
read -r epoch loss < <(least metric/resnet20/default/summary.csv)
[ "$(json_value loss.json best_epoch)" = "$epoch" ] && [[ $(json_value loss.json best_loss) == "${loss%??}"* ]] ||
  { cat metric/resnet20/default/summary.csv; best_values loss.json; fail "the best loss is $loss of epoch $epoch"; }
expect_line "Best loss: .* (epoch $((epoch + 1)))"
"${learn[@]}" --best-metric loss --result again.json >log 2>&1 && cmp -s <(best_values loss.json) <(best_values again.json) ||
  fail "a run that is started again has another best"
refuses "TRAIN.BEST_METRIC miou is a score of label maps" "${learn[@]}" --best-metric miou --tag x

finish
