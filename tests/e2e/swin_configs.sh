#!/bin/bash
# Swin's 46 original configurations, unchanged, on every device: one training step of each, with a
# model that --opts shrinks.
#
#   tests/e2e/swin_configs.sh [TRAINC [DEVICE...]]      default: ./trainc ref cpu
. "$(dirname "$0")/lib.bash"
shift
[ $# -gt 0 ] || set -- ref cpu
ran=0

# Two windows per side in the first stage and less than one in later stages, so windows are
# shifted, clamped, and padded. Swin-MLP requires maps that halve, so it has eight windows per
# side. Blocks with experts are in the last two stages.
small() { # CONFIGURATION: --opts
  local window section side=8 depths=[1,2,1,1] more=
  section=$(sed -n 's/^ *TYPE: *//p' "$1" | tr a-z A-Z)
  [ "$section" != SWIN_MLP ] || side=32
  if [ $section = SWIN_MOE ]; then
    depths=[1,1,2,2]
    [[ $1 = *densebaseline* ]] || more='MODEL.SWIN_MOE.MOE_BLOCKS [[-1],[-1],[1],[1]]'
  fi
  window=$(sed -n 's/^ *WINDOW_SIZE: *//p' "$1")
  [[ $1 != *simmim_pretrain* ]] || side=$((96 / window)) # patches of 32 pixels
  echo "DATA.DATASET synthetic DATA.TRAIN_NUM_SAMPLES 2 DATA.VAL_NUM_SAMPLES 2 DATA.BATCH_SIZE 2" \
    "DATA.IMG_SIZE $((side * ${window:-7})) MODEL.NUM_CLASSES 5 MODEL.$section.EMBED_DIM 8" \
    "MODEL.$section.DEPTHS $depths MODEL.$section.NUM_HEADS [1,2,2,4] TRAIN.EPOCHS 1" \
    "TRAIN.WARMUP_EPOCHS 0 DATA.NUM_WORKERS 0 LOG.TENSORBOARD False $more"
}

for cfg in "$here"/configs/{swin,swinv2,swinmlp,swinmoe,simmim}/*.yaml; do
  for device; do
    # shellcheck disable=SC2046
    "$trainc" --cfg "$cfg" --device "$device" --output "out-$device" --result result.json \
      --opts CUDNN.BENCHMARK False $(small "$cfg") >log 2>&1 || { fail "$(basename "$cfg") on $device"; continue; }
    [ "$(json_value result.json steps)" = 1 ] && [[ $(json_value result.json train_loss) =~ ^[0-9.]+$ ]] ||
      fail "$(basename "$cfg") on $device: no step, or a loss that is no number"
    ran=$((ran + 1))
  done
done
[ $ran = $((46 * $#)) ] || fail "$ran runs, not 46 on each device"

finish
