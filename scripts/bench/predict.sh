#!/bin/bash
# Compares trainc predict with timm on one core: a folder of JPEGs is decoded, resized, cropped,
# and passed through a model in fp32 with the same weights.
#
#   scripts/bench/predict.sh DIR [MODEL...]      DIR/CLASS/*.jpg; MODEL is resnet18
#
#   PYTHON=FILE  with torch and timm (python3)    CORE=N  (0)    ROUNDS=N  (3)
#
# Prints images per second of each round without startup: trainc's time is that of the folder
# minus that of one image.
set -eu
here=$(dirname "$0")
trainc=$here/../../trainc
python=${PYTHON:-python3}
folder=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
one=$(find "$folder" -name '*.jpg' | sort | head -1)
n=$(find "$folder" -name '*.jpg' | wc -l)
seconds() { # COMMAND...
  local began
  began=$(date +%s.%N)
  "$@" >"$dir/out" 2>"$dir/log"
  echo "$(date +%s.%N) - $began" | bc
}
for model in "${@:-resnet18}"; do
  "$python" "$here/timm_predict.py" --save "$dir/w.safetensors" --model "$model"
  run=(taskset -c "${CORE:-0}" "$trainc" predict --device cpu --model "$model" --weights "$dir/w.safetensors" --no-amp
    --crop-pct 0.95 --val-batch-size 32 --opts DATA.NUM_WORKERS 1 --)
  for _ in $(seq "${ROUNDS:-3}"); do
    all=$(seconds "${run[@]}" "$folder")
    [ "$(wc -l <"$dir/out")" = "$n" ]
    start=$(seconds "${run[@]}" "$one")
    echo "$model: trainc $(echo "scale=1; ($n - 1) / ($all - $start)" | bc)," \
      "$(taskset -c "${CORE:-0}" "$python" "$here/timm_predict.py" "$folder" --model "$model" --weights "$dir/w.safetensors")"
  done
done
