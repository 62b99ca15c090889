#!/bin/bash
# Events by epoch: validations and checkpoints (EVAL_FREQ, SAVE_FREQ, SAVE_STEPS), the learning
# rate in summary.csv, the end of mixup, a start in a later epoch, the best epoch, and which
# progress lines remain on a terminal.
#
#   tests/e2e/epochs.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

column() { # FILE NAME: prints that column of summary.csv
  awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) c = i; next} {print $c}' "$1"
}
of_lines() { # FILE KIND KEY: prints the key of all lines of that kind in metrics.jsonl
  jq --arg kind "$2" --arg key "$3" 'select(.kind == $kind)[$key]' "$1"
}

# Epochs of 8 steps.
common=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --device cpu --threads 1)
train() { # TAG ARGUMENT...
  local tag=$1
  shift
  "${common[@]}" --tag "$tag" "$@" >log 2>&1 || fail "$tag"
  run=out/resnet20/$tag
}

train long --epochs 5 --opts PRINT_FREQ=1 TRAIN.EVAL_FREQ=2 SAVE_FREQ=3 TRAIN.KEEP_CHECKPOINTS=9
[ "$(of_lines $run/metrics.jsonl val step | xargs)" = "16 32 40" ] ||
  fail "EVAL_FREQ 2: validated at updates $(of_lines $run/metrics.jsonl val step | xargs)"
[ -e $run/ckpt_epoch_2.safetensors ] || fail "SAVE_FREQ 3: the third epoch is not saved"
[ -e $run/ckpt_epoch_0.safetensors ] && fail "SAVE_FREQ 3: the first epoch is saved"
[ "$(column $run/summary.csv lr | xargs printf '%.6g ')" = \
  "$(of_lines $run/metrics.jsonl train lr | sed -n '0~8p' | xargs printf '%.6g ')" ] ||
  fail "lr of summary.csv is not that of the epoch's last update"
last=$(of_lines $run/metrics.jsonl train lr | tail -1)
grep -q "in the first step and $(printf '%.6g' "$last") in the last" log ||
  fail "the log's last rate is not $last"
echo "ok: a long run"

train zero --epochs 0
grep -q "nothing to do: TRAIN.EPOCHS is 0" log || fail "no epochs: not said"
grep -q "learning rate" log && fail "no epochs: rates of no update"
"${common[@]}" --batch-size 4096 >log 2>&1 && fail "a batch larger than the data"
grep -q "fewer than DATA.BATCH_SIZE 4096: take fewer, or --no-drop-last" log || fail "a large batch: no hint"
echo "ok: no epochs, and too large a batch"

# A start in the second epoch uses the second epoch's step numbers and learning rates.
second=(--start-epoch 1 --epochs 2 --opts PRINT_FREQ=1 AUG.MIXUP_PROB=1)
train off "${second[@]}" AUG.MIXUP_OFF_EPOCH=1
[ "$(of_lines $run/metrics.jsonl train step | xargs)" = "9 10 11 12 13 14 15 16" ] ||
  fail "START_EPOCH 1: updates $(of_lines $run/metrics.jsonl train step | xargs)"
[ "$(of_lines $run/metrics.jsonl train lr | head -1)" = 0.05 ] || fail "START_EPOCH 1: warms up"
mv $run/metrics.jsonl off.jsonl
train on "${second[@]}"
mv $run/metrics.jsonl on.jsonl
train none "${second[@]}" AUG.MIXUP=0
[ "$(of_lines off.jsonl train loss)" = "$(of_lines $run/metrics.jsonl train loss)" ] ||
  fail "MIXUP_OFF_EPOCH 1: the second epoch mixes"
[ "$(of_lines on.jsonl train loss)" = "$(of_lines off.jsonl train loss)" ] && fail "AUG.MIXUP does nothing"
echo "ok: a start in the second epoch"

# The learning rate ruins good weights, and the EMA does not change: the best is the EMA of the
# first epoch, not a later one with the same score.
train ruin --epochs 3 --pretrained out/resnet20/long/last.safetensors --lr 10 --warmup-epochs 0 --result ruin.json \
  --opts TRAIN.EMA.DECAY=1 TRAIN.EMA.RAMP_STEPS=0 TRAIN.EVAL_FREQ=1
raw=$(column $run/summary.csv val_top1 | sort -g | tail -1)
ema=$(column $run/summary.csv ema_top1 | sort -gu | xargs)
awk -v a="$raw" -v b="$ema" 'BEGIN {exit !(a < b)}' ||
  fail "the EMA was to be better, and always the same: $raw and $ema"
[ "$(grep -c "Max accuracy: $(printf %.2f "$ema")% (epoch 1)" log)" = 3 ] ||
  fail "the best is not the EMA of the first epoch: $(grep Max log | xargs)"
[ "$(json_value ruin.json best_epoch)" = 0 ] && [[ $(json_value ruin.json best_top1) =~ ^${ema/.*/}(\.|$) ]] ||
  fail "the result's best is not the EMA of the first epoch: $(best_values ruin.json | xargs)"
echo "ok: the best epoch"

# After the first epoch the log reports the size of the cache. A large JPEG is cached at reduced
# size if every crop of it may be decoded at that size.
"$trainc" synth shapes --out small --classes 4 --train 16 --val 4 --size 32 2>log || exit 1
"$trainc" synth shapes --out large --classes 4 --train 16 --val 4 --size 160 2>log || exit 1
cached=("$trainc" --cfg "$here/configs/smoke/adamw.yaml" --cache decoded --output out --device cpu
  --warmup-epochs 0)
"${cached[@]}" --tag small --data-path small >log 2>&1 || fail "a cache"
[ "$(grep -c "DATA.CACHE decoded: 16 of 16 images, [0-9.]* KiB$" log)" = 1 ] ||
  fail "a cache of all: $(grep CACHE log)"
"${cached[@]}" --tag large --data-path large >log 2>&1 || fail "a cache of large images"
grep -q "DATA.CACHE decoded: 16 of 16 images, 1.2 MiB$" log || fail "large images: $(grep CACHE log)"
"${cached[@]}" --tag shrunk --data-path large --scale 0.9 1 >log 2>&1 || fail "a cache of shrunken images"
grep -q "DATA.CACHE decoded: 16 of 16 images, 30[0-9].[0-9] KiB$" log || fail "shrunken images: $(grep CACHE log)"
echo "ok: what is cached"

# SAVE_STEPS counts steps across epochs.
train steps --epochs 3 --opts TRAIN.SAVE_STEPS=8 TRAIN.KEEP_CHECKPOINTS=9 SAVE_FREQ=9 TRAIN.EVAL_FREQ=9
for e in 0 1 2; do
  [ -e $run/ckpt_epoch_$e.safetensors ] || fail "SAVE_STEPS 8: epoch $e is not saved"
done
echo "ok: saves at the ends of epochs"

# A step is validated once, no matter how often the run is restarted, even if it is saved and not
# the best (with one class, no later score beats the first).
limited=(--epochs 3 --num-classes 1 --opts PRINT_FREQ=1 TRAIN.SAVE_STEPS=2)
for most in 2 4 4; do train limited --max-steps $most "${limited[@]}"; done
[ "$(of_lines $run/metrics.jsonl val step | xargs)" = "2 4" ] ||
  fail "MAX_STEPS twice: validated at updates $(of_lines $run/metrics.jsonl val step | xargs)"
grep -q "Acc@1" log && fail "MAX_STEPS twice: validated again"
grep -q "all 4 steps of TRAIN.MAX_STEPS are already done" log || fail "MAX_STEPS twice: not said"
echo "ok: validated once"

# After a resume, the first line covers all steps since the last line before it.
window=(--epochs 2 --opts PRINT_FREQ=5 TRAIN.SAVE_STEPS=7 TRAIN.KEEP_CHECKPOINTS=9)
of_step() { jq -c --argjson step "$2" 'select(.step == $step) | del(.images_per_second, .data_share)' "$1"; } # FILE STEP
train whole "${window[@]}"
whole=$(of_step $run/metrics.jsonl 8)
train half --resume $run/ckpt_step_7.safetensors "${window[@]}"
half=$(of_step $run/metrics.jsonl 8)
[ -n "$whole" ] && [ "$whole" = "$half" ] || fail "the lines of step 8: $half after a resume, not $whole"
line=$(sed -n 's/.*Train: .*\[8\/8\] .* loss \([0-9.]* ([0-9.]*)\).*/\1/p' out/resnet20/whole/log.txt | head -1)
[ -n "$line" ] && [ "${line% *}" != "$(tr -d '()' <<<"${line#* }")" ] ||
  fail "a line has the loss since the last one and that of the epoch: $line"
echo "ok: the line after a resume"

# If the progress bar shares the terminal, only the last line of an epoch remains there; log.txt
# has all.
on_terminal() { # TAG ARGUMENT...
  run=out/resnet20/$1
  script -qec "$(printf '%q ' "${common[@]}" --tag "$@")" /dev/null >log 2>&1 </dev/null ||
    fail "$1"
}
on_terminal bar --epochs 2 --progress on --opts PRINT_FREQ=4
[ "$(grep -o "Train: [^ ]*" log | xargs)" = "Train: [1/2][8/8] Train: [2/2][8/8]" ] ||
  fail "with a progress line: $(grep -o "Train: [^ ]*" log | xargs)"
[ "$(grep -c "Train: " $run/log.txt)" = 4 ] || fail "with a progress line: log.txt lacks lines"
on_terminal bar_ended --epochs 2 --progress on --max-steps 10 --opts PRINT_FREQ=4
[ "$(grep -o "Train: [^ ]*" log | xargs)" = "Train: [1/2][8/8] Train: [2/2][2/8]" ] ||
  fail "with a progress line and MAX_STEPS: $(grep -o "Train: [^ ]*" log | xargs)"
echo "ok: what stays of a progress line"

# If best.safetensors cannot be written, the best score remains that of the previous file.
train stuck --epochs 1 --lr 1e-6 --warmup-epochs 0 --opts TRAIN.KEEP_CHECKPOINTS=9
rm $run/best.safetensors
mkdir -p $run/best.safetensors/in-the-way
cp $run/ckpt_epoch_0.safetensors before
"${common[@]}" --tag stuck --epochs 6 --warmup-epochs 0 --resume $run/ckpt_epoch_0.safetensors \
  --opts TRAIN.KEEP_CHECKPOINTS=9 >log 2>&1
best_of() { # FILE: prints the best score in a checkpoint
  head -c 20000 "$1" | tr -d '\\' | grep -ao '"best_top1":[^,]*' | cut -d: -f2
}
grep -q "cannot save the best checkpoint" log || fail "best: no word that it was not saved"
[ "$(best_of $run/last.safetensors)" = "$(best_of before)" ] ||
  fail "best: $(best_of $run/last.safetensors) is to beat, $(best_of before) was the last one saved"
echo "ok: a best checkpoint that cannot be saved"

finish
