#!/bin/bash
# Compares trainc's training step with PyTorch's on this machine, in alternating runs.
#
#   scripts/bench/train_step.sh [ROUNDS]        default 3
#
#   PYTHON=python3     an interpreter with torch
#   MODELS="resnet50 resnet20"  DTYPES="fp32 bf16"  MODES="eager compiled"  SECONDS_EACH=5
#                      also unet, and models of timm that are in configs/ or in `trainc models`
#
# Prints, for each model and type, median images per second, the ratio to the faster PyTorch mode,
# trainc's time for convolutions only, and the peak memory of both. Batch 16 at 224x224 (8 for
# transformers and ConvNeXt), 128 at 32x32, 8 at 256x256 for the U-Net; all cores, synthetic input; forward, backward, and
# optimizer.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-3}
python=${PYTHON:-python3}
each=${SECONDS_EACH:-5}

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
rate() { grep -o '[0-9.]* img/s' | head -1 | cut -d' ' -f1; }

logged() { # COMMAND...: its output into $dir/log, which is shown if it fails
  "$@" >"$dir/log" || { cat "$dir/log" >&2; exit 1; }
}

peak() { grep -o 'peak [0-9.]* GiB' | head -1 | cut -d' ' -f2; }

config() {
  case $1 in
    resnet20) echo configs/cifar10/resnet20.yaml ;;
    swin_tiny*) echo configs/swin.yaml ;;
    vit*) echo configs/vit_tiny.yaml ;;
    *) [ ! -e "configs/$1.yaml" ] || echo "configs/$1.yaml" ;;
  esac
}
batch() { case $1 in resnet20) echo 128 ;; swin* | vit* | convnext* | unet) echo 8 ;; *) echo 16 ;; esac; }

ours() { # MODEL DTYPE [--convs]
  local level=O1
  local size=() cfg=() drop_path=0
  [ -z "$(config "$1")" ] || cfg=(--cfg "$(config "$1")")
  [ "$2" = fp32 ] && level=O0
  [ "$1" = unet ] && size=(DATA.IMG_SIZE 256 MODEL.NUM_CLASSES 21)
  [[ $1 != swin* ]] || drop_path=0.1 # timm's defaults
  ./trainc bench "${cfg[@]}" --model "$1" --batch-size "$(batch "$1")" --seconds "$each" ${3:-} \
    --opts "${size[@]}" AMP_OPT_LEVEL $level AMP.DTYPE bf16 \
    MODEL.DROP_PATH_RATE "$drop_path" TRAIN.EMA.ENABLE False 2>&1
}

theirs() { # MODEL DTYPE MODE
  "$python" scripts/bench/pytorch_train_step.py --model "$1" --dtype "$2" --mode "$3" \
    --batch "$(batch "$1")" --seconds "$each" 2>&1
}

for model in ${MODELS:-resnet50 resnet20}; do
  for dtype in ${DTYPES:-fp32 bf16}; do
    dir=$(mktemp -d)
    for _ in $(seq "$rounds"); do
      logged ours "$model" "$dtype" --convs
      grep "^$model" "$dir/log" | rate >>"$dir/trainc"
      grep "^$model" "$dir/log" | peak >>"$dir/peak"
      grep '^convolutions' "$dir/log" | rate >>"$dir/convs"
      for mode in ${MODES:-eager compiled}; do
        logged theirs "$model" "$dtype" "$mode"
        rate <"$dir/log" >>"$dir/torch_$mode"
        peak <"$dir/log" >>"$dir/peak_$mode"
      done
    done
    t=$(median <"$dir/trainc")
    c=$(median <"$dir/convs")
    best=0
    line=
    for mode in ${MODES:-eager compiled}; do
      p=$(median <"$dir/torch_$mode")
      line="$line, PyTorch $mode $p ($(median <"$dir/peak_$mode") GiB)"
      best=$(echo "$p $best" | awk '{print ($1 > $2) ? $1 : $2}')
    done
    m=$(median <"$dir/peak")
    echo "$t $c $best $m" | awk -v what="$model $dtype" -v line="$line" \
      '{printf "%s: trainc %s img/s (%s GiB)%s: ratio %.2f; convolutions only %s, %.0f %% of that\n", what, $1, $4, line, $1 / $3, $2, 100 * $1 / $2}'
    rm -rf "$dir"
  done
done
