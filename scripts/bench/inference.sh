#!/bin/bash
# Compares trainc's inference with PyTorch and onnxruntime on this machine, in alternating
# runs.
#
#   scripts/bench/inference.sh [ROUNDS]        default 3
#
#   PYTHON=python3     an interpreter with torch, timm, and onnxruntime
#   MODELS="vit_small_patch16_224 swin_tiny_patch4_window7_224"  BATCHES="1 8"; also unet,
#                      which needs segmentation_models_pytorch
#   DTYPES="fp32 bf16"  MODES="eager compiled onnxruntime"  SECONDS_EACH=3
#
# Prints, for each model, batch size, and type, median images per second of each, and the
# ratio to the fastest other one. onnxruntime runs in fp32 only.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
each=${SECONDS_EACH:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
rate() { grep -o '[0-9.]* img/s' | head -1 | cut -d' ' -f1; }

logged() { # COMMAND...: its output into $dir/log, which is shown if it fails
  "$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
}

for model in ${MODELS:-vit_small_patch16_224 swin_tiny_patch4_window7_224}; do
  classes=1000 size=224
  [ "$model" != unet ] || { classes=21; size=256; }
  case ${MODES:-onnxruntime} in
    *onnxruntime*)
      logged "$python" scripts/bench/timm_inference.py --model "$model" --save "$dir/w.safetensors"
      logged ./trainc export --model "$model" --num-classes "$classes" --img-size "$size" --weights "$dir/w.safetensors" \
        --onnx "$dir/model.onnx"
      ;;
  esac
  for batch in ${BATCHES:-1 8}; do
    for dtype in ${DTYPES:-fp32 bf16}; do
      rm -f "$dir"/rate_*
      for _ in $(seq "${1:-3}"); do
        logged ./trainc bench --inference --model "$model" --batch-size "$batch" --seconds "$each" --opts \
          DATA.IMG_SIZE "$size" MODEL.NUM_CLASSES "$classes" AMP_OPT_LEVEL "$([ "$dtype" = fp32 ] && echo O0 || echo O1)" AMP.DTYPE bf16
        rate <"$dir/log" >>"$dir/rate_trainc"
        for mode in ${MODES:-eager compiled onnxruntime}; do
          [ "$mode-$dtype" != onnxruntime-bf16 ] || continue
          logged "$python" scripts/bench/timm_inference.py --model "$model" --dtype "$dtype" --batch "$batch" \
            --mode "$mode" --onnx "$dir/model.onnx" --seconds "$each"
          rate <"$dir/log" >>"$dir/rate_$mode"
        done
      done
      ours=$(median <"$dir/rate_trainc")
      best=0
      line=
      for mode in ${MODES:-eager compiled onnxruntime}; do
        [ -e "$dir/rate_$mode" ] || continue
        p=$(median <"$dir/rate_$mode")
        line="$line, $mode $p"
        best=$(echo "$p $best" | awk '{print ($1 > $2) ? $1 : $2}')
      done
      echo "$ours $best" | awk -v what="$model batch $batch $dtype" -v line="$line" \
        '{printf "%s: trainc %s img/s%s: ratio %.2f\n", what, $1, line, $1 / $2}'
    done
  done
done
