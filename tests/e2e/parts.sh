#!/bin/bash
# Parts of a data set: DATA.VAL_FRACTION, DATA.FOLD, DATA.GROUP, DATA.FRACTION,
# DATA.MAX_VAL_IMAGES, and trainc sweep --folds with mean and standard deviation.
#
#   tests/e2e/parts.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

net=(--model resnet20 --img-size 32 -b 4 --data-path s --device cpu
  --opts AMP_ENABLE=False LOG.REPORT=False TRAIN.WARMUP_EPOCHS=0 THREADS=1)
# Names as in a video data set: three frames per video.
"$trainc" synth shapes --out s --classes 3 --train 45 --val 9 --size 32 >log || { fail "synth"; finish; }
for class in s/train/*/; do
  k=0
  for file in "$class"*.jpg; do mv "$file" "$class/v$((k / 3))_$k.jpg"; k=$((k + 1)); done
done

# Each image is validated in one fold and trains in the other four.
for k in 1 2 3 4 5; do
  "$trainc" train "${net[@]}" --epochs 1 --fold $k/5 --output f$k >log 2>&1 || fail "fold $k"
  grep -q "36 training images" log || fail "fold $k: training images"
  grep -q "(9 images" log || fail "fold $k: validation images"
done
"$trainc" train "${net[@]}" --epochs 1 --val-fraction 0.2 --fraction 0.5 --max-val-images 6 --output v >log 2>&1 || fail "fractions"
grep -q "18 training images" log && grep -q "(6 images" log || fail "fractions: counts"
"$trainc" train "${net[@]}" --epochs 1 --val-fraction 0.2 --group '(v[0-9]+)_' --output g >log 2>&1 || fail "groups"
grep -q "36 training images" log && grep -q "(9 images" log || fail "groups: counts"

# A resumed run and an evaluation of its checkpoint use the same images; a split named by the user
# is evaluated completely.
"$trainc" eval --resume v/resnet20/default/last.safetensors --data-path s >log 2>&1 || fail "eval"
expect_line "(6 images"
"$trainc" eval --resume g/resnet20/default/last.safetensors --data-path s --val-split train >log 2>&1 || fail "eval of a split"
expect_line "(45 images"

refused() { # TEXT ARGS...
  "$trainc" train "${net[@]}" --epochs 1 --output r "${@:2}" >log 2>&1 && fail "$*: accepted"
  grep -qF -- "$1" log || fail "$*: not said"
}
refused "is not a fold such as 2/5" --fold 6/5
refused "is not a fold such as 2/5" --fold 2
refused "both select validation images" --fold 2/5 --val-fraction 0.1
refused "is not an extended regular expression" --fold 1/5 --group '('
"$trainc" train "${net[@]}" --epochs 1 --output r --group x 2>&1 | grep -q "DATA.GROUP has no effect" || fail "a group without parts"

"$trainc" sweep --output sw --folds 3 --grid TRAIN.BASE_LR=0.1,0.01 "${net[@]:0:8}" --epochs 1 \
  --opts AMP_ENABLE=False LOG.REPORT=False TRAIN.WARMUP_EPOCHS=0 THREADS=1 >log 2>&1 || fail "sweep"
[ "$(wc -l <sw/sweep.csv)" = 7 ] && [ "$(wc -l <sw/sweep_mean.csv)" = 3 ] || fail "rows of the sweep"
awk -F, 'NR > 1 && /BASE_LR=0.1 / {s += $2; q += $2 * $2; n++} END {m = s / n; d = (q - n * m * m) / (n - 1); printf "%.4f %.4f\n", m, sqrt(d < 0 ? 0 : d)}' sw/sweep.csv >want
awk -F, '/BASE_LR=0.1$/ {printf "%.4f %.4f\n", $1, $2}' sw/sweep_mean.csv >got
cmp -s want got || { cat want got sw/sweep.csv sw/sweep_mean.csv; fail "mean and deviation"; }

finish
