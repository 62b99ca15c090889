#!/bin/bash
# make demo: installs packages, builds, generates images, trains, evaluates, and prints a table.
# Takes one to three minutes. Leaves output/demo/result.json (training) and output/demo/eval.json.
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh
make -s -j"$(nproc)"
rm -rf output/resnet20/demo output/demo
mkdir -p output/demo
./trainc synth shapes --out output/shapes --classes 6 --train 3000 --val 600
./trainc --cfg configs/demo.yaml --result output/demo/result.json
echo
./trainc eval --cfg configs/demo.yaml --resume output/resnet20/demo/best.safetensors \
  --result output/demo/eval.json

value() { sed -n "s/.*\"$2\": \([^,]*\),*$/\1/p" "output/demo/$1.json"; }

echo
echo "epoch  train loss  val loss  val top-1  EMA top-1"
awk -F, '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  { printf "%5d  %10.4f  %8.4f  %8.2f %%  %7.2f %%\n", $1 + 1, $column["train_loss"], $column["val_loss"], $column["val_top1"], $column["ema_top1"] }' \
  output/resnet20/demo/summary.csv
printf '\n%.2f %% of the validation images are right (best epoch, weights; their EMA: ' \
  "$(value eval val_top1)"
printf '%.2f %%)\n%.0f images/s in training, %.1f s in all; see output/resnet20/demo\n' \
  "$(value eval ema_top1)" "$(value result images_per_second)" \
  "$(value result wall_seconds)"
