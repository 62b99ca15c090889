#!/bin/bash
# Compares ERFNet's training step with PyTorch's on this machine, in alternating runs.
#
#   scripts/bench/erfnet.sh [ROUNDS]            default 3
#
#   DEVICE=cpu          480x360, batch 4, 12 classes; cuda: 1024x512, batch 16, 20 classes
#   PYTHON=python3      an interpreter with torch
#   DTYPES="fp32 bf16"  MODES="eager compiled"  SECONDS_EACH=5
#   RUN="taskset -c 0,1"  prefix of every timed command
#
# Prints, for each type, median images per second and the ratio to the faster PyTorch mode. A step
# is forward, weighted loss with ignored pixels, backward, and Adam, on synthetic pixels.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-3}
device=${DEVICE:-cpu}
each=${SECONDS_EACH:-5}
case $device in
  cpu*) width=480 height=360 batch=4 classes=12 dtypes="fp32 bf16" ;;
  *) width=1024 height=512 batch=16 classes=20 dtypes=fp16 ;;
esac

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
rate() { grep -o '[0-9.]* img/s' | head -1 | cut -d' ' -f1; }

ours() { # DTYPE
  local level=O1
  [ "$1" = fp32 ] && level=O0
  ${RUN:-} ./trainc bench --cfg configs/erfnet.yaml --device "$device" --batch-size $batch \
    --seconds "$each" --opts AMP_OPT_LEVEL $level AMP.DTYPE "${1/fp32/auto}" \
    DATA.CLASS_SET "" MODEL.NUM_CLASSES $classes DATA.IMG_WIDTH $width \
    DATA.IMG_HEIGHT $height 2>&1
}

theirs() { # DTYPE MODE
  ${RUN:-} "${PYTHON:-python3}" scripts/bench/pytorch_erfnet_step.py --device "${device%%:*}" \
    --dtype "$1" --mode "$2" --batch $batch --width $width --height $height \
    --classes $classes --seconds "$each" 2>&1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for dtype in ${DTYPES:-$dtypes}; do
  rm -f "$dir"/*
  for _ in $(seq "$rounds"); do
    ours "$dtype" | rate >>"$dir/trainc"
    for mode in ${MODES:-eager compiled}; do
      theirs "$dtype" "$mode" | rate >>"$dir/torch_$mode"
    done
  done
  best=0
  line=
  for mode in ${MODES:-eager compiled}; do
    p=$(median <"$dir/torch_$mode")
    line="$line, PyTorch $mode $p"
    best=$(echo "$p $best" | awk '{print ($1 > $2) ? $1 : $2}')
  done
  echo "$(median <"$dir/trainc") $best" |
    awk -v what="erfnet $dtype ${width}x$height batch $batch" -v line="$line" \
      '{printf "%s: trainc %s img/s%s: ratio %.2f\n", what, $1, line, $1 / $2}'
done
