#!/bin/bash
# When more files cannot be decoded than DATA.MAX_BAD_SHARE allows, the run saves its state and
# says why it ends. Once the files are repaired, the run resumes and ends with exactly the weights
# of an undisturbed run.
#
#   tests/e2e/damage.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out data --classes 4 --train 64 --val 24 --size 16 2>/dev/null || exit 1
common=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path data --device cpu --epochs 2
  --opts DATA.MAX_BAD_SHARE=0 PRINT_FREQ=1)
train=("${common[@]}" --output out --result result.json)
run=out/resnet20/default

damaged() { # NAME TRAIN VAL: numbers of damaged files
  [ "$(jq -c '[.damaged_train_samples, .damaged_val_samples]' result.json)" = "[$2,$3]" ] ||
    fail "$1: not $2 and $3 but $(grep damaged_ result.json)"
}

"${train[@]}" >log 2>&1 || fail "whole files"
damaged "whole files" 0 0
mv out whole

ends() { # NAME STEP: the step whose checkpoint is saved
  "${train[@]}" >log 2>&1
  local rc=$?
  [ $rc = 1 ] || fail "$1: exit code $rc"
  [ "$(grep -c "1 of [0-9]* files are damaged, more than the share of 0" log)" = 1 ] ||
    fail "$1: not said once"
  [ "$(json_value result.json exit)" = 1 ] && [[ $(json_value result.json error) == *"files are damaged"* ]] ||
    fail "$1: the result"
  [ "$(json_value result.json steps)" = "$2" ] || fail "$1: the result has $(grep steps result.json)"
  [ -s $run/ckpt_step_$2.safetensors ] || fail "$1: update $2 is not saved: $(ls $run)"
}

goes_on() { # NAME
  "${train[@]}" >log 2>&1 || fail "$1: does not resume"
  grep -q "resumed from" log || fail "$1: starts over"
  cmp -s $run/last.safetensors whole/resnet20/default/last.safetensors || fail "$1: other weights"
  [ "$(jq -c 'select(.kind == "train")' $run/metrics.jsonl | wc -l)" = 16 ] || fail "$1: not each update once"
  rm -rf out
  echo "ok: $1"
}

# Finds a file that is not in the first batch.
for file in data/train/*/*; do
  cp "$file" kept
  echo "no image" >"$file"
  rm -rf tried
  "${train[@]}" --max-steps 1 --output tried >log 2>&1 && break
  cp kept "$file"
done
rm -rf tried
"${train[@]}" >log 2>&1
saved=$(json_value result.json steps)
rm -rf out
[ "$saved" -ge 1 ] && [ "$saved" -lt 8 ] || fail "training: $saved updates before the damage"
ends "a training image" "$saved"
damaged "a training image" 1 0
cp kept "$file"
goes_on "a training image"

file=$(ls data/val/*/* | tail -1)
cp "$file" kept
echo "no image" >"$file"
ends "a validation image" 8
ends "a validation image, again" 8
damaged "a validation image" 0 1
cp kept "$file"
goes_on "a validation image"

# Evaluation and the loader benchmark save nothing.
echo "no image" >"$file"
evaluation=("$trainc" eval --cfg "$here/configs/smoke/shapes.yaml" --data-path data --device cpu
  --resume whole/resnet20/default/last.safetensors --opts DATA.MAX_BAD_SHARE=0)
"${evaluation[@]}" --result result.json >log 2>&1
[ $? = 1 ] && grep -q "1 of 24 files are damaged" log && grep -q "files are damaged" result.json ||
  fail "an evaluation"
damaged "an evaluation" null 1
"${evaluation[@]}" --opts DATA.ON_ERROR=fail >log 2>&1
[ $? = 1 ] && grep -q "cannot decode '.*$(basename "$file")" log || fail "ON_ERROR fail"
cp kept "$file"
for file in data/train/*/*; do echo "no image" >"$file"; done
"$trainc" bench --loader --cfg "$here/configs/smoke/shapes.yaml" --data-path data >log 2>&1
[ $? = 1 ] && grep -q "files are damaged, more than the share" log || fail "bench --loader"
echo "ok: evaluation and benchmark"

finish
