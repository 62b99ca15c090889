#!/bin/bash
# Compares 8-bit inference with fp32 and, if the processor supports it, bf16: images per second of
# `trainc bench --inference` on synthetic pixels, alternating, best of all rounds.
#
#   scripts/bench/int8.sh [MODEL...]      resnet50
#
#   WEIGHTS=FILE  float weights of the model (default: trained briefly for this purpose)
#   CALIB=DIR     calibration images (default: generated ones; speed does not depend on them)
#   THREADS=N (1)    BATCH=N (8)    ROUNDS=N (5)    SECONDS_EACH=N (5)
#
# Also prints the processor's 8-bit and bf16 instructions: figures without VNNI do not apply to a
# processor with it.
set -eu
trainc=$(realpath "$(dirname "$0")/../../trainc")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
has() { grep -qw -e "$1" /proc/cpuinfo; }
echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1):" \
  "$(for f in avx2 avx512f avx_vnni avx512_vnni amx_int8 avx512_bf16 amx_bf16; do has $f && echo -n " $f"; done || true)"
kinds=(fp32 int8)
! has avx512_bf16 && ! has amx_bf16 || kinds=(fp32 bf16 int8)
"$trainc" synth shapes --out "$dir/shapes" --classes 2 --train 8 --val 4 --size 224 2>/dev/null

for model in "${@:-resnet50}"; do
  weights=${WEIGHTS:-}
  if [ -z "$weights" ]; then
    "$trainc" --model "$model" --data-path "$dir/shapes" --device cpu --epochs 1 -b 4 --no-amp --output "$dir/$model" \
      --opts TRAIN.WARMUP_EPOCHS 0 >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    weights=$(find "$dir/$model" -name last.safetensors)
  fi
  "$trainc" quantize --weights "$weights" --calib "${CALIB:-$dir/shapes/train}" -n 64 --device cpu \
    --out "$dir/q.safetensors" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
  for _ in $(seq "${ROUNDS:-5}"); do
    for kind in "${kinds[@]}"; do
      run=("$trainc" bench --inference --device cpu --threads "${THREADS:-1}" --val-batch-size "${BATCH:-8}"
        --seconds "${SECONDS_EACH:-5}" --json "$dir/json")
      case $kind in
        fp32) run+=(--weights "$weights" --no-amp) ;;
        bf16) run+=(--weights "$weights" --amp-opt-level O1 --opts AMP.DTYPE bf16) ;;
        int8) run+=(--weights "$dir/q.safetensors") ;;
      esac
      "${run[@]}" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
      sed -n 's/.*"images_per_second":\([0-9.]*\).*/\1/p' "$dir/json" >>"$dir/$model.$kind"
    done
  done
  for kind in "${kinds[@]}"; do
    best=$(sort -g "$dir/$model.$kind" | tail -1)
    awk -v m="$model" -v k="$kind" -v b="$best" -v f="$(sort -g "$dir/$model.fp32" | tail -1)" \
      'BEGIN {printf "%s %s: %.1f img/s, %.2f times fp32\n", m, k, b, b / f}'
  done
done
