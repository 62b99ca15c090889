#!/bin/bash
# A user's first commands without a configuration file: a folder of class folders trains, what is
# missing is named, and the model that was announced is the one that is used afterwards.
#
#   tests/e2e/defaults.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
export OMP_NUM_THREADS=1

"$trainc" synth shapes --out data --classes 3 --train 36 --val 12 --size 32 2>log || exit 1
cp -r data/train photos
key() { "$trainc" config "${@:2}" 2>/dev/null | sed -n "s/^ *$1: \([^ ]*\).*/\1/p"; }
is() { # KEY VALUE OPTION...
  local got
  got=$(key "$1" "${@:3}")
  [ "$got" = "$2" ] || fail "${*:3}: $1 is $got, not $2"
}

# One folder per class and no splits: a fifth is set aside, as trainc init does.
is TRAIN_SPLIT "''" --data-path photos
is VAL_FRACTION 0.2 --data-path photos
"$trainc" init photos 2>/dev/null | grep -q "VAL_FRACTION: 0.2" || fail "init chooses another fraction"
"$trainc" --data-path photos --epochs 1 --device cpu --output out --tag classes >log 2>&1 || fail "class folders do not train"
grep -q "^30 training images" log || fail "not four fifths of 36 images: $(grep training log)"
"$trainc" check --data-path photos >log 2>&1 || fail "check of class folders"
grep -q "^training part: 30 images" log || fail "check does not split class folders as training does"
is TRAIN_SPLIT "''" --data-path photos --val-fraction 0.5
is VAL_FRACTION 0.5 --data-path photos --val-fraction 0.5
is VAL_FRACTION 0.0 --data-path photos DATA.FOLD=2/3
# Splits are used as they are; train/ without a folder for validation loses a fifth.
is VAL_FRACTION 0.0 --data-path data
mkdir only && cp -r data/train only/train
is TRAIN_SPLIT train --data-path only
is VAL_FRACTION 0.2 --data-path only
# A folder named like a validation set is never ignored.
mkdir both && cp -r data/train both/train && cp -r data/val both/test
is VAL_FRACTION 0.0 --data-path both
refuses "'both' has no folder 'val'; it has 'test', 'train'" "$trainc" --data-path both
# Recipes keep their splits, and say what to set.
refuses "if these are classes, set DATA.TRAIN_SPLIT '' and DATA.VAL_FRACTION 0.2" \
  "$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path photos
refuses "folder 'fotos' not found: set your data set's folder with --data-path DIR$" "$trainc" --data-path fotos
: >empty.yaml
refuses "empty.yaml: the file is empty" "$trainc" --cfg empty.yaml
refuses "(here: --weights FILE)" "$trainc" predict --checkpoint a.pth photos

# Stale EMA weights score worse: the raw weights, whose score was announced, are used.
"$trainc" --data-path data --epochs 2 --device cpu --output out --tag raw --best-metric loss --no-amp \
  --opts TRAIN.EMA.DECAY 0.9999 TRAIN.EMA.RAMP_STEPS 0 >log 2>&1 || fail "train"
best=out/resnet20/raw/best.safetensors
announced=$(sed -n 's/^Best loss: \([0-9.]*\) .*/\1/p' log | tail -1)
loss() { sed -n 's/^ \* Acc.* loss \([0-9.]*\) .*/\1/p' log | head -1; }
same() { awk -v a="$announced" -v b="$1" 'BEGIN { exit !(b > 0 && a - b < 1e-4 && b - a < 1e-4) }'; }
"$trainc" eval --weights $best --device cpu --no-amp >log 2>&1
same "$(loss)" || fail "eval --weights: loss $(loss), not $announced"
grep -q "loaded from the raw weights, which scored higher" log || fail "the log does not name the raw weights"
"$trainc" export --weights $best --out w.safetensors 2>&1 | grep -q "(raw weights, which scored higher)" || fail "export"
"$trainc" eval --data-path data --model resnet20 --num-classes 3 --img-size 32 --weights w.safetensors --device cpu --no-amp >log 2>&1 ||
  fail "eval of the export"
same "$(loss)" || fail "eval of the exported weights: loss $(loss), not $announced"
# Without a delay, the EMA weights are the better ones.
"$trainc" --data-path data --epochs 2 --device cpu --output out --tag ema --best-metric loss \
  --opts TRAIN.EMA.DECAY 0.0 TRAIN.EMA.RAMP_STEPS 0 >log 2>&1 || fail "train"
"$trainc" export --weights out/resnet20/ema/best.safetensors --out e.safetensors 2>&1 | grep -q "(EMA weights)" ||
  fail "EMA weights with the same score are not exported"

finish
