#!/bin/bash
# Runs that fail print one message, write it into the result with the exit code, and leave no folder;
# options without effect are mentioned.
#
#   tests/e2e/failing_runs.sh [TRAINC]
. "$(dirname "$0")/eval.bash"

"$trainc" export --weights $run/last.safetensors --out alone.safetensors >log 2>&1 || fail "export"

# A failing run prints a message and writes a result with the exit code.
"$trainc" "${args[@]}" --lr 1e6 --no-auto-resume --tag wild --warmup-epochs 0 \
  --epochs 50 --opts AMP.MAX_SKIPS=3 --result wild.json >log 2>&1
[ $? = 1 ] || fail "a run that diverges: exit code"
[ "$(json_value wild.json exit)" = 1 ] || fail "a run that diverges: result"
[ "$(json_value wild.json steps)" -ge 3 ] || fail "a run that diverges: its updates are not counted"
expect_line "not finite"
grep -q "expected" log && fail "a run that diverges without a loss scale: is soothed"
for key in LOSS_SCALE=1e7 INIT_SCALE=1e12; do
  exits 1 "AMP.${key%=*} may be too large" \
    "$trainc" --cfg "$here/configs/smoke/fp16.yaml" --data-path shapes --output out --tag scale \
    --no-auto-resume --opts AMP.MAX_SKIPS=3 AMP.$key
done

refused() { # NAME PATTERN ARGUMENT...: exit code 2, and the error is in the result
  local what=$1 pattern=$2
  rm -f refused.json
  "$trainc" "${@:3}" --result refused.json >log 2>&1
  [ $? = 2 ] || fail "$what: exit code"
  [ "$(json_value refused.json exit)" = 2 ] || fail "$what: exit code in the result"
  [ "$(json_value refused.json steps)" = 0 ] && [ "$(json_value refused.json val_loss)" = null ] &&
    [ "$(json_value refused.json peak_memory_bytes)" = null ] ||
    fail "$what: result"
  jq .error refused.json | grep -q -e "$pattern" || fail "$what: error in the result"
  [ -e out/resnet20/refused ] && fail "$what: a folder was made"
}

refused "--resume of nothing" "file 'nowhere" "${args[@]}" --tag refused \
  --resume nowhere.safetensors
refused "eval of nothing" "nothing to evaluate" eval "${args[@]}"
refused "another number of classes" "has 4 classes" "${args[@]}" --num-classes 7 --tag refused
refused "unknown keys" "TRAIN.EPOCH .*TRAIN.BASELR" "${args[@]}" --tag refused \
  --opts TRAIN.EPOCH 3 TRAIN.BASELR 1
refused "no such file" "nowhere.yaml" --cfg nowhere.yaml
refused "no such data" "--data-path: DATA.DATA_PATH: folder 'nowhere'" \
  "${args[@]}" --data-path nowhere --tag refused
refused "no such split" "'shapes' has no folder 'test'; it has 'train', 'val' (DATA.VAL_SPLIT, DATA.DATASET folder)" \
  "${args[@]}" --val-split test --tag refused
refused "sides of label maps" "is a square of DATA.IMG_SIZE" "${args[@]}" --tag refused \
  --opts DATA.IMG_WIDTH=512 DATA.IMG_HEIGHT=512
refused "a run for a checkpoint" "'$run' is a folder; use '$run/last.safetensors'" "${args[@]}" \
  --tag refused --resume $run
refuses "is a square of DATA.IMG_SIZE" "$trainc" predict "${best[@]}" --opts DATA.IMG_WIDTH=32 -- shapes/val
refuses "DATA.MEAN has 3 numbers, but images have one channel" "$trainc" predict "${best[@]}" --in-chans 1 shapes/val
"$trainc" "${args[@]}" --scale 0.5 1 --accumulation-steps 9 --resume $run/last.safetensors --pretrained alone.safetensors \
  --start-epoch 1 >log 2>&1 || fail "what has no effect"
for what in "AUG.SCALE has no effect" "ignoring TRAIN.START_EPOCH 1" "ignoring MODEL.PRETRAINED 'alone.safetensors'" \
  "ACCUMULATION_STEPS 9 is more than the 4 batches"; do
  grep -q "$what" log || fail "not said: $what"
done
printf 'PK\003\004\024\000\010\010archive/data.pkl' >weights.pth
refuses "'weights.pth': a damaged zip archive" "$trainc" eval "${args[@]}" --pretrained weights.pth
refuses "a PyTorch file and no safetensors" "$trainc" "${args[@]}" --resume weights.pth --tag refused
mkdir a_folder
"$trainc" "${args[@]}" --result a_folder --tag refused >log 2>&1
[ $? = 2 ] || fail "--result of a folder: exit code"
rm -f refused.json
"$trainc" "${args[@]}" --result refused.json --no-such-flag >log 2>&1
[ $? = 2 ] || fail "unknown flag: exit code"
[ -e refused.json ] && fail "unknown flag: a result of a command that was not understood"

# fp16 with a loss scale, on the reference device, which supports every type.
"$trainc" "${args[@]}" --device ref --amp-dtype fp16 --tag half --epochs 1 \
  --warmup-epochs 0 --max-steps 2 --opts AMP.INIT_SCALE=1e9 >log 2>&1 || fail "fp16"
expect_line "a few skipped steps are normal"

finish
