#!/bin/bash
# Configurations from trainc init train: for each layout of layouts.bash, two steps, a validation,
# and a checkpoint with the configuration's values; a smaller model replaces large ones.
#
#   tests/e2e/init_trains.sh [TRAINC [LAYOUT...]]
set -u
trainc=$(realpath "${1:-./trainc}")
shift
. "$(dirname "$(realpath "$0")")/layouts.bash"
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-init-trains.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }
layouts_begin "$trainc" || { echo "init_trains: no images"; exit 1; }
[ "${#layouts[@]}" -ge 40 ] || fail "only ${#layouts[@]} layouts"
for name in "${@:-${layouts[@]}}"; do
  small=()
  [[ $name == class_* ]] && small=(MODEL.NAME resnet20)
  "layout_$name" "$name" || { fail "$name cannot be made"; continue; }
  "$trainc" init "$name" >x.yaml 2>log || { cat log; fail "$name: init"; continue; }
  "$trainc" config --check --cfg x.yaml >log 2>&1 && [ ! -s log ] || { cat log; fail "$name: the configuration is not clean"; }
  OMP_NUM_THREADS=1 "$trainc" --cfg x.yaml --output "out/$name" --device cpu --threads 1 \
    --opts TRAIN.MAX_STEPS 2 DATA.NUM_WORKERS 1 DATA.BATCH_SIZE 2 "${small[@]}" >log 2>&1 || { cat log; fail "$name: it does not train"; continue; }
  find "out/$name" -name '*.safetensors' | grep -q . || { find out/$name; fail "$name: no checkpoint"; }
  grep -q 'damaged' log && { cat log; fail "$name: images are left out"; }
  grep -v 'no pixel of the\|skipping images without a label map' log | grep 'warning' && fail "$name: training warns"
done

[ $fails = 0 ] && echo "init_trains: passed" || { echo "init_trains: $fails failed"; exit 1; }
