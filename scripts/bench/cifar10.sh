#!/bin/bash
# Compares the training speed of ResNet-20 on CIFAR-10, including loading, with PyTorch's with the
# data set in memory (pytorch_cifar10.py), in alternating runs of the first steps.
#
#   scripts/bench/cifar10.sh DATA [ROUNDS]      DATA/train/CLASS/*, DATA/test/CLASS/*
#
#   PYTHON=python3   an interpreter with torch, numpy, and Pillow
set -eu
data=$(cd "$1" && pwd)
rounds=${2:-3}
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

for i in $(seq "$rounds"); do
  ./trainc --cfg configs/cifar10/resnet20.yaml --data-path "$data" --output "$dir/out" --tag "$i" \
    --result "$dir/result.json" --opts TRAIN.MAX_STEPS 390 TRAIN.EVAL_FREQ 30 >"$dir/log" 2>&1
  sed -n 's/.*"images_per_second": \([0-9.]*\).*/\1/p' "$dir/result.json" >>"$dir/ours"
  "${PYTHON:-python3}" scripts/bench/pytorch_cifar10.py "$data" --max-steps 200 |
    sed -n 's/images_per_second //p' >>"$dir/theirs"
  echo "round $i: trainc $(tail -1 "$dir/ours"), PyTorch $(tail -1 "$dir/theirs") img/s"
done
echo "$(median <"$dir/ours") $(median <"$dir/theirs")" |
  awk '{printf "trainc %.0f img/s, PyTorch %.0f img/s, ratio %.2f\n", $1, $2, $1 / $2}'
