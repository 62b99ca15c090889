#!/bin/bash
# Compares a whole recipe with timm: a smaller configs/cifar10/swin.yaml on generated images must
# reproduce each step's loss and gradient norm of timm's model with PyTorch's AdamW and the same
# random numbers (scripts/golden/recipe.py). Covers order, crops, flips, drop path, smoothing,
# clipping, parameter groups, and schedule.
#
#   tests/e2e/recipe.sh [TRAINC]
#   tests/e2e/recipe.sh TRAINC --first DIR     only writes the images and first weights to DIR
. "$(dirname "$0")/lib.bash"
cd "${3:-$dir}" || exit 1

# 72 images: four steps of 16 per epoch; 8 images are dropped.
train() { # TAG [KEY=VALUE...]
  "$trainc" --cfg "$here/configs/cifar10/swin.yaml" --data-path shapes --device cpu --threads 1 --seed 5 \
    --amp-opt-level O0 --output out --tag "$1" -j 0 --opts DATA.VAL_SPLIT=val DATA.BATCH_SIZE=16 \
    TRAIN.SCALE_LR_BASE=16 TRAIN.EPOCHS=3 TRAIN.WARMUP_EPOCHS=1 MODEL.DROP_PATH_RATE=0.3 TRAIN.CLIP_GRAD=1.5 \
    MODEL.SWIN.EMBED_DIM=24 MODEL.SWIN.NUM_HEADS="[1,2,4]" PRINT_FREQ=1 "${@:2}" >log 2>&1 ||
    fail "training '$1'"
}
golden() { jq ".$1[]" "$here/tests/golden/train/recipe.json"; }
run() { jq "select(.kind == \"train\").$1" out/swin_cifar10/run/metrics.jsonl; }

"$trainc" synth shapes --out shapes --train 72 --val 10 --size 32 --seed 3 >log 2>&1 || fail "images"
if [ "${2:-}" = --first ]; then
  train first TRAIN.BASE_LR=1e-12 TRAIN.WARMUP_LR=0 TRAIN.MIN_LR=0 TRAIN.MAX_STEPS=1
  cp out/swin_cifar10/first/last.safetensors first.safetensors
  exit $fails
fi

train run
for what in loss grad_norm; do
  [ "$(run $what | wc -l)" = 12 ] || fail "$(run $what | wc -l) updates, not 12"
  paste -d ' ' <(golden $what) <(run $what) |
    awk '{d = $1 - $2; d = d < 0 ? -d : d; if (!(NF == 2 && d <= 2e-4 * $1)) {print "update " NR ": timm " $1 ", here " $2; bad = 1}} END {exit bad || NR != 12}' ||
    fail "$what is not timm's"
done

finish
