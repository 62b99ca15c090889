#!/bin/bash
# Nothing of value is lost or replaced: a run that diverges keeps its earlier checkpoints and ends
# with exit code 1, as does a run without usable data; files that trainc did not write are kept;
# resume reports a changed list of data.
#
#   tests/e2e/diverged.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out data --classes 4 --train 64 --val 24 --size 16 2>/dev/null || exit 1
train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path data --device cpu)
run=out/resnet20/default

says() { # CODE PATTERN NAME
  local rc=$?
  [ $rc = "$1" ] || fail "$3: exit code $rc, not $1: $(tail -2 log)"
  grep -q "$2" log || fail "$3: does not say '$2': $(tail -2 log)"
}

# Writes good checkpoints, then diverges: weights and statistics overflow.
"${train[@]}" --epochs 1 --output out >log 2>&1 || fail "a good run"
cp $run/last.safetensors good.safetensors
"${train[@]}" --epochs 4 --output out --result r.json --resume $run/last.safetensors \
  --opts TRAIN.CLIP_GRAD 0 TRAIN.BASE_LR 1e6 TRAIN.SCALE_LR False AMP_ENABLE False >log 2>&1
says 1 "the run has diverged" "a run that diverges"
cmp -s good.safetensors $run/last.safetensors || fail "a run that diverges: last.safetensors is another"
[ "$(json_value r.json exit)" = 1 ] || fail "a run that diverges: the result"
echo "ok: a run that diverges"

# No usable data.
mkdir -p junk/train/{a,b} junk/val/{a,b}
for c in a b; do
  for i in 1 2 3 4; do echo junk >junk/train/$c/$i.png; done
  cp "$(ls data/val/*/* | head -1)" junk/val/$c/
done
"${train[@]}" --data-path junk --num-classes 2 --batch-size 4 --epochs 1 --output none \
  --opts DATA.MAX_BAD_SHARE 1.0 >log 2>&1
says 1 "nothing to learn from in epoch" "no sound image"
echo "ok: no sound image"

# Files that trainc did not write.
cp "$here/configs/smoke/shapes.yaml" s.yaml
"$trainc" --cfg s.yaml --data-path data --epochs 1 --output other --result s.yaml >log 2>&1
says 2 "not a JSON file of trainc" "--result on its own configuration"
cmp -s s.yaml "$here/configs/smoke/shapes.yaml" || fail "--result wrote over a configuration"
mkdir -p mine/resnet20/default
cp s.yaml mine/resnet20/default/config.yaml
"${train[@]}" --epochs 1 --output mine >log 2>&1
says 2 "was not written by trainc" "a config.yaml of one's own"
cmp -s s.yaml mine/resnet20/default/config.yaml || fail "a run wrote over a configuration"
"${train[@]}" --epochs 1 --output again --result r.json >log 2>&1 || fail "a result of trainc is not replaced"
echo "ok: files of others"

# The list of files changes in the middle of an epoch; the number of steps per epoch does not.
"${train[@]}" --epochs 2 --output moved --max-steps 2 >log 2>&1 || fail "a start"
a=$(ls -d data/train/* | head -1) b=$(ls -d data/train/* | tail -1)
mv "$(ls "$a"/* | head -1)" "$b/moved.jpg"
"${train[@]}" --epochs 2 --output moved --resume moved/resnet20/default/last.safetensors >log 2>&1
says 0 "the list of files or labels of" "data that have changed"
"${train[@]}" --epochs 2 --output moved >log 2>&1
grep -q "the list of files" log && fail "data that have not changed"
echo "ok: data that have changed"

# Winograd's rounding errors replace zero gradients, which Adam would turn into full steps.
for o in adamw sgd; do
  "$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" --device cpu --json $o.json \
    --opts AMP_ENABLE False TRAIN.OPTIMIZER.NAME $o >log 2>&1 || fail "summary: $(tail -1 log)"
  taken=$(grep -o '"kernel":"cpu [a-z0-9_]* winograd"' $o.json | wc -l)
  [ $o = adamw ] && [ "$taken" != 0 ] && fail "adamw: Winograd's algorithm is taken $taken times"
  [ $o = sgd ] && grep -q avx2 /proc/cpuinfo && [ "$taken" = 0 ] && fail "sgd: no Winograd"
done
echo "ok: Winograd"

finish
