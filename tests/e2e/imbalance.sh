#!/bin/bash
# Imbalanced classes: class weights, logit adjustment, and scores that weight all classes equally.
#
#   tests/e2e/imbalance.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out data --classes 3 --train 36 --val 12 --size 32 >log 2>&1 || { fail "synth"; finish; }
classes=(data/train/*)
rm "${classes[0]}"/*[2-9].* # the first class becomes rare
run=("$trainc" train --dataset folder --data-path data --num-classes 3 --img-size 32 --warmup-epochs 0
  --epochs 1 --disable-amp --mixup 0 --cutmix 0 -j 1)
small=("${run[@]}" --model vit_tiny_patch16_224 --device ref --drop-path 0 --opts TRAIN.MAX_STEPS=1
  TRAIN.SCALE_LR=False LOG.REPORT=False DATA.SHUFFLE=False AUG.COLOR_JITTER=0 AUG.REPROB=0
  AUG.AUTO_AUGMENT=none PRINT_FREQ=1)

# The gradient of a step does not depend on how its images are split into batches.
norm() { jq -r 'select(.kind == "train") | .grad_norm' "output/vit_tiny_patch16_224/$1/metrics.jsonl" | head -1; }
same() { # KEY=VALUE...
  "${small[@]}" TAG=one DATA.BATCH_SIZE=8 "$@" >log 2>&1 || fail "$*: one batch"
  "${small[@]}" TAG=two DATA.BATCH_SIZE=4 TRAIN.ACCUMULATION_STEPS=2 "$@" >log 2>&1 || fail "$*: two batches"
  awk -v a="$(norm one)" -v b="$(norm two)" 'BEGIN { d = a / b - 1; exit !(a > 0 && d < 1e-5 && d > -1e-5) }' ||
    fail "$*: the gradient norm of one batch is $(norm one), of two $(norm two)"
  rm -r output
}
same
same TRAIN.CLASS_WEIGHTS=balanced
same TRAIN.CLASS_WEIGHTS=effective MODEL.LABEL_SMOOTHING=0.2
same "TRAIN.CLASS_WEIGHTS=[1, 0.5, 3]" TRAIN.LOSS.LOGIT_ADJUST=1

# Weights and biases are logged; the log, the results, and the summary have the scores.
"${run[@]}" --model resnet20 -b 8 --class-weights balanced --logit-adjust 1 --best-metric f1_macro \
  --result r.json >log 2>&1 || fail "resnet20"
expect_line "^class weights: [^,]* [2-9][0-9.]*, "
expect_line "^logit adjustment: [^,]* -1.9"
expect_line "balanced accuracy 0.[0-9]*, macro F1 0.[0-9]*, MCC -\?0.[0-9]*, AUROC 0.[0-9]*"
expect_line "Best f1_macro: 0.[0-9]* (epoch 1)"
jq -e '.best_f1_macro >= 0 and .ema_balanced_acc <= 1 and .val_mcc == null or .val_mcc <= 1' r.json >/dev/null ||
  fail "the result: $(cat r.json)"
head -1 output/resnet20/default/summary.csv | grep -q 'ema_balanced_acc,ema_f1_macro,ema_mcc,ema_auroc' ||
  fail "summary.csv"

# Conflicting options are rejected before any data is read.
refused() { # MESSAGE ARGUMENT...
  "${run[@]}" --tag refused "${@:2}" >log 2>&1 && fail "accepted: ${*:2}"
  grep -qF -- "$1" log || fail "${*:2}: not '$1'"
}
refused "TRAIN.CLASS_WEIGHTS: only cross_entropy reads them, not focal" --model resnet20 --class-weights auto --loss focal
refused "TRAIN.CLASS_WEIGHTS has 2 numbers, and MODEL.NUM_CLASSES is 3" --model resnet20 --opts "TRAIN.CLASS_WEIGHTS=[1, 2]"
refused "works for at most 256 classes" --model resnet20 --num-classes 300 --logit-adjust 1
refused "TRAIN.CLASS_WEIGHTS effective counts images" --model erfnet --class-weights effective --dataset list
refused "TRAIN.BEST_METRIC auroc is a score of whole images" --model erfnet --best-metric auroc --dataset list

finish
