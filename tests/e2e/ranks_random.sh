#!/bin/bash
# Random draws depend on an image's position in the global batch, not on its rank. With dropout,
# drop path, mixup, cutmix, and random erasing, 2 and 4 ranks end with the weights of one process
# with the same number of images per step, to 1e-6; also with gradient accumulation, and after
# resuming with a different number of ranks.
#
#   tests/e2e/ranks_random.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

tiny >tiny.yaml
train=("$trainc" --cfg tiny.yaml --no-amp --epochs 1 --reprob 0.5 --opts MODEL.DROP_RATE=0.2 MODEL.DROP_PATH_RATE=0.3
  TRAIN.BASE_LR=0.02)
mixing=(AUG.MIXUP=0.8 AUG.CUTMIX=1.0 AUG.MIXUP_PROB=0.9)
run() { # RANKS IMAGES OUT [KEY...]
  ranks "$1" "${train[@]}" DATA.BATCH_SIZE="$2" OUTPUT="$3" "${@:4}" >log 2>&1 || fail "$3"
}
equal() { # A B
  far=$(apart "$(file "$1")" "$(file "$2")")
  echo "$2: $far from $1"
  below "$far" 1e-6 || fail "$2: $far from $1"
}
differ() { # A B
  below "$(apart "$(file "$1")" "$(file "$2")")" 1e-5 && fail "$2 is $1: nothing was drawn"
}

run 1 8 none MODEL.DROP_RATE=0 MODEL.DROP_PATH_RATE=0
run 1 8 dropped
differ none dropped
for n in 2 4; do
  run $n $((8 / n)) dropped$n
  equal dropped dropped$n
done
for mode in batch pair elem; do
  run 1 8 $mode "${mixing[@]}" AUG.MIXUP_MODE=$mode
  differ dropped $mode
  for n in 2 4; do
    run $n $((8 / n)) $mode$n "${mixing[@]}" AUG.MIXUP_MODE=$mode
    equal $mode $mode$n
  done
done
differ batch pair
differ pair elem
# Augments on the device; two batches per step.
more=("${mixing[@]}" AUG.MIXUP_MODE=pair AUG.ON_DEVICE=True TRAIN.ACCUMULATION_STEPS=2)
run 1 8 group "${more[@]}"
differ pair group
for n in 2 4; do
  run $n $((8 / n)) group$n "${more[@]}"
  equal group group$n
done
echo "ok: 1, 2 and 4 ranks draw alike"

# Four ranks stop within the epoch, two ranks resume, and the result equals that of one process.
run 4 2 fours "${mixing[@]}" AUG.MIXUP_MODE=elem TRAIN.MAX_STEPS=4
run 2 4 on "${mixing[@]}" AUG.MIXUP_MODE=elem MODEL.RESUME="$(file fours)"
grep -q "resumed from" log || fail "on with two ranks: not resumed"
equal elem on
echo "ok: another number of ranks draws on"

# Both images of a mixup pair must be in one process.
ranks 2 "${train[@]}" DATA.BATCH_SIZE=3 OUTPUT=no "${mixing[@]}" >log 2>&1 && fail "mixup of 3 images in each rank passed"
grep -q "DATA.BATCH_SIZE 3 is odd: mixup and cutmix need pairs of images in each of 2 processes" log ||
  fail "mixup of 3 images in each rank: message"
[ "$(grep -c "^trainc: error: \|: error: " log)" = 1 ] || fail "mixup of 3 images: more than one line"

finish
