#!/bin/bash
# MODEL.TASK simmim: pre-training of each family that has mask tokens, the same bits after a resume,
# fine-tuning from its checkpoint, and what cannot be combined with it.
#
#   tests/e2e/simmim.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
data="DATA.DATASET synthetic DATA.TRAIN_NUM_SAMPLES 12 DATA.VAL_NUM_SAMPLES 5 DATA.BATCH_SIZE 4 DATA.IMG_SIZE 64 \
DATA.NUM_WORKERS 0 LOG.TENSORBOARD False TRAIN.WARMUP_EPOCHS 0 MODEL.NUM_CLASSES 5 AMP_ENABLE False"
cells="DATA.MASK_PATCH_SIZE 16"
net() { # MODEL.KEY: the keys of a small net
  echo "$1.EMBED_DIM 8 $1.DEPTHS [1,1,2,1] $1.NUM_HEADS [1,2,2,4] $1.WINDOW_SIZE 4"
}
# shellcheck disable=SC2086
train() { "$trainc" --device cpu --opts $data "$@" >log 2>&1; }

for type in swin swinv2; do
  keys="MODEL.TYPE $type $(net "MODEL.${type^^}")"
  # shellcheck disable=SC2086
  train MODEL.NAME simmim_pretrain $keys $cells OUTPUT "$type" TRAIN.EPOCHS 3 TRAIN.BASE_LR 0.004 TAG pre ||
    fail "$type: pre-training"
  expect_line '\* loss [01]\.'
  loss=$(jq -r 'select(.val_loss) | .val_loss' "$type/simmim_pretrain/pre/metrics.jsonl" 2>/dev/null | tr '\n' ' ')
  read -r first _ last <<<"$loss"
  awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a) }' || fail "$type does not learn: $loss"
  # shellcheck disable=SC2086
  train MODEL.NAME simmim_finetune $keys OUTPUT "$type-fine" TRAIN.EPOCHS 1 TRAIN.LAYER_DECAY 0.8 \
    MODEL.PRETRAINED "$type/simmim_pretrain/pre/last.safetensors" || fail "$type: fine-tuning"
  expect_line 'converting tensor names of SimMIM'
  expect_line 'head.fc.weight: missing in the file, reinitialized'
done
train MODEL.TYPE vit MODEL.NAME vit_tiny_patch16_224 MODEL.TASK simmim DATA.MASK_PATCH_SIZE 16 OUTPUT vit TRAIN.EPOCHS 1 TAG pre || fail "vit"
expect_line '\* loss [01]\.'

# The masks of a resumed run are those of a run that was never interrupted.
for run in "whole 5" "parts 2" "parts 5"; do
  read -r name steps <<<"$run"
  # shellcheck disable=SC2046,SC2086
  train MODEL.TYPE swin MODEL.NAME simmim_pretrain $(net MODEL.SWIN) $cells OUTPUT out TAG "$name" TRAIN.EPOCHS 3 \
    TRAIN.MAX_STEPS "$steps" MODEL.SIMMIM.NORM_TARGET.ENABLE True || fail "resume: $run"
done
out=out/simmim_pretrain
cmp <(tail -c 20000 $out/whole/last.safetensors) <(tail -c 20000 $out/parts/last.safetensors) ||
  fail "a resumed run has other weights"

# shellcheck disable=SC2086
pre="MODEL.TYPE swin MODEL.NAME simmim_pretrain $(net MODEL.SWIN) $cells"
# shellcheck disable=SC2086
{
refuses 'DATA.MASK_PATCH_SIZE 24 does not divide' "$trainc" --opts $data $pre DATA.MASK_PATCH_SIZE 24
refuses 'NORM_TARGET.PATCH_SIZE 4 must be odd' "$trainc" --opts $data $pre MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE 4
refuses 'cannot be combined with MODEL.TASK simmim' "$trainc" --opts $data $pre AUG.MIXUP 0.5
refuses 'resnet18 has no mask tokens' "$trainc" --model resnet18 --opts $data MODEL.TASK simmim
refuses 'is for fine-tuning' "$trainc" --opts $data $pre TRAIN.LAYER_DECAY 0.5
refuses 'has no answers' "$trainc" export --onnx x.onnx --weights swin/simmim_pretrain/pre/last.safetensors \
  --opts $pre
}
finish
