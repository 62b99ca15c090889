#!/bin/bash
# Configurations from trainc init train: for each layout of layouts.bash, two steps, a validation,
# and a checkpoint with the configuration's values; a smaller model replaces large ones.
#
#   tests/e2e/init_trains.sh [TRAINC [LAYOUT...]]
. "$(dirname "$0")/lib.bash"
shift
. "$here/tests/e2e/layouts.bash"

layouts_begin "$trainc" || { fail "no images"; finish; }
[ "${#layouts[@]}" -ge 40 ] || fail "only ${#layouts[@]} layouts"
for name in "${@:-${layouts[@]}}"; do
  small=()
  [[ $name == class_* ]] && small=(MODEL.NAME resnet20)
  "layout_$name" "$name" || { fail "$name cannot be made"; continue; }
  "$trainc" init "$name" >x.yaml 2>log || { fail "$name: init"; continue; }
  "$trainc" config --check --cfg x.yaml >log 2>&1 && [ ! -s log ] || fail "$name: the configuration is not clean"
  OMP_NUM_THREADS=1 "$trainc" --cfg x.yaml --output "out/$name" --device cpu --threads 1 \
    --opts TRAIN.MAX_STEPS 2 DATA.NUM_WORKERS 1 DATA.BATCH_SIZE 2 "${small[@]}" >log 2>&1 || { fail "$name: it does not train"; continue; }
  find "out/$name" -name '*.safetensors' | grep -q . || { find out/$name; fail "$name: no checkpoint"; }
  grep -q 'damaged' log && fail "$name: images are left out"
  grep -v 'have no pixels of\|skipping images without a label map' log | grep 'warning' && fail "$name: training warns"
done

finish
