#!/bin/bash
# Compares training with two processes of one core each, one process of two cores, and one process
# of one core: images per second in alternating rounds, with images in memory; also PyTorch's
# DistributedDataParallel with gloo in two processes (pytorch_ddp.py).
#
#   scripts/bench/ranks.sh [ROUNDS] [resnet50 | resnet20]...
#
#   PYTHON=python3   an interpreter with torch and timm; empty: skip PyTorch
#   STEPS=12         steps of a run; the first third does not count
#   CORES="0 1"      the two cores
set -eu
rounds=${1:-5}
shift || true
models=${*:-resnet20 resnet50}
cd "$(dirname "$0")/../.."
here=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
read -r core other <<<"${CORES:-0 1}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
# Model, global batch size, image size.
settings() {
  case $1 in
  resnet20) steps=${STEPS:-60} batch=128 side=32 cfg=configs/cifar10/resnet20.yaml ;;
  resnet50) steps=${STEPS:-12} batch=32 side=224 cfg=configs/resnet50.yaml ;;
  *) echo "ranks.sh: resnet50 or resnet20, not $1" >&2; exit 2 ;;
  esac
}
# Prints the images per second of the steps after the first third: total images over total time.
rate() { # FOLDER
  sed -n 's/.*"kind":"train".*"images_per_second":\([0-9.e+]*\).*/\1/p' "$1"/*/*/metrics.jsonl |
    awk -v from=$((steps / 3)) 'NR > from {t += 1 / $1; n++} END {printf "%.2f\n", n / t}'
}
train() { # NAME BATCH THREADS COMMAND...
  rm -rf "$dir/out"
  "${@:4}" "$here/trainc" --cfg "$cfg" --data-path "$dir/$model" --device cpu --threads "$3" --batch-size "$2" \
    --output "$dir/out" --print-freq 1 --max-steps "$steps" --cache decoded --workers 1 --opts TRAIN.EVAL_FREQ=1000000 \
    MODEL.NUM_CLASSES=4 DATA.VAL_SPLIT=val DATA.IMG_SIZE="$side" AUG.COLOR_JITTER=0 AUG.AUTO_AUGMENT=none AUG.REPROB=0 AUG.MIXUP=0 AUG.CUTMIX=0 \
    ${OPTS:-} >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
  rate "$dir/out" >>"$dir/$model.$1"
}
ddp() { # NAME
  OMP_NUM_THREADS=1 "$PYTHON" scripts/bench/pytorch_ddp.py --model "$model" --batch $((batch / 2)) --side "$side" --steps "$steps" \
    --cores "$core" "$other" | sed -n 's/images_per_second //p' >>"$dir/$model.$1"
}

for model in $models; do
  settings "$model"
  "./trainc" synth shapes --out "$dir/$model" --classes 4 --train $((batch * 4)) --val 4 --size "$side" 2>/dev/null
  for i in $(seq "$rounds"); do
    train one-two "$batch" 2 taskset -c "$core,$other"
    train two-one $((batch / 2)) 1 mpirun -n 2 --cpu-set "$core,$other" --bind-to core
    train one-one $((batch / 2)) 1 taskset -c "$core"
    [ -z "${PYTHON:=}" ] || ddp ddp
    echo "$model, round $i: $(for k in two-one one-two one-one ddp; do [ -e "$dir/$model.$k" ] && echo -n "$k $(tail -1 "$dir/$model.$k")  "; done)img/s"
  done
  for k in one-two one-one ddp; do
    [ -e "$dir/$model.$k" ] || continue
    echo "$model: two ranks of one core / $k: $(paste "$dir/$model.two-one" "$dir/$model.$k" | awk '{print $1 / $2}' | median)"
  done
done
