#!/bin/bash
# Resuming with another configuration, from an older checkpoint, with other steps per epoch, or with
# another loss scale.
#
#   tests/e2e/resume_changed.sh [TRAINC]
. "$(dirname "$0")/resume.bash"

train=("${cpu[@]}")

# A different configuration in the same folder is rejected, and the message names the key.
"${train[@]}" --max-steps 3 >log 2>&1 || fail "MAX_STEPS 3"
"${train[@]}" --lr 0.01 >log 2>&1
[ $? = 2 ] || fail "other configuration: exit code"
expect_line "TRAIN.BASE_LR"
"${train[@]}" --no-auto-resume >log 2>&1 && fail "no auto-resume: overwrites a run"
"${train[@]}" --epochs 3 --max-steps 4 --resume $run/last.safetensors >log 2>&1 ||
  fail "--resume with another configuration"
expect_line "was saved with a different configuration: TRAIN.EPOCHS (2 there, 3 here)"
echo "ok: other configuration"

# --resume of an older checkpoint in its own folder is rejected, because the next start would
# resume from a later one.
rm -rf out
"${train[@]}" --max-steps 14 >log 2>&1 || fail "MAX_STEPS 14"
refuses "is from step 7, .* has a checkpoint from step 14" "${train[@]}" --resume $run/ckpt_step_7.safetensors
[ "$(wc -l <$run/metrics.jsonl)" = 15 ] || fail "--resume of an older checkpoint: metrics.jsonl"
"${train[@]}" --tag other --resume $run/ckpt_step_7.safetensors --max-steps 8 >log 2>&1 ||
  fail "--resume into another folder"
# Repeating the command, as a queue does after a kill, continues the run that it started.
"${train[@]}" --tag other --resume $run/ckpt_step_7.safetensors --max-steps 15 --start-epoch 1 >log 2>&1
[ $? = 2 ] || fail "--resume again, with another configuration: exit code"
"${train[@]}" --tag other --resume $run/ckpt_step_7.safetensors --max-steps 9 >log 2>&1 ||
  fail "--resume again"
expect_line "ignoring MODEL.RESUME '$run/ckpt_step_7.safetensors': resuming the run that started from it"
expect_line "resumed from 'out/resnet20/other/.*step 8"
[ "$(jq 'select(.kind == "train").step' out/resnet20/other/metrics.jsonl | xargs)" = "8 9" ] ||
  fail "--resume again: metrics.jsonl"
refuses "is from step 7, .* has a checkpoint from step 9" "${train[@]}" --tag other --resume $run/ckpt_step_7.safetensors --no-auto-resume
echo "ok: an older checkpoint"

# Fewer steps per epoch: the step number decreases, but the latest checkpoint is still used.
rm -rf out
bigger=("${common[@]}" --data-path few --device cpu --opts PRINT_FREQ=1)
last=$run/last.safetensors
"${bigger[@]}" -b 8 >log 2>&1 || fail "8 updates per epoch"
"${bigger[@]}" -b 16 --epochs 5 --resume $last --max-steps 12 >log 2>&1 || fail "4 updates per epoch"
cp $last twelve.safetensors
for end in 14 16; do # within an epoch, and at its end
  "${bigger[@]}" -b 16 --epochs 5 --max-steps $end >log 2>&1 || fail "4 updates per epoch, again"
done
expect_line "resumed from .*: 3 epochs done, step 14"
[ "$(cut -d, -f1 $run/summary.csv | tr '\n' ' ')" = "epoch 0 1 2 3 " ] ||
  fail "4 updates per epoch: summary.csv"
[ "$(jq -c 'select(.kind == "train")' $run/metrics.jsonl | wc -l)" = 24 ] ||
  fail "4 updates per epoch: metrics.jsonl has not each update once"
refuses "is from step 20, .* has a checkpoint from step 24" "${bigger[@]}" -b 16 --epochs 5 --resume twelve.safetensors
# More steps per epoch, then fewer: TensorBoard's x axis continues from its maximum.
"${bigger[@]}" -b 4 --epochs 5 --max-steps 66 --resume $last >log 2>&1 || fail "16 updates per epoch"
"${bigger[@]}" -b 16 --epochs 6 --max-steps 17 --resume $last >log 2>&1 || fail "4 updates per epoch, at last"
x=$(grep -ao 'axis\\":[0-9]*' $last)
[ "$x" = 'axis\":67' ] || fail "fewer updates per epoch: $x, not 67"
echo "ok: fewer updates per epoch"

# A dynamic loss scale is resumed only from another dynamic one: fp16 after fp32 starts with
# AMP.INIT_SCALE, and AMP.LOSS_SCALE is used as given.
scale_of() { jq "select(.kind == \"train\" and .step == $1).loss_scale" $run/metrics.jsonl; }
rm -rf out
"${ref[@]}" --no-amp --max-steps 2 >log 2>&1 || fail "fp32"
cp $run/last.safetensors fp32.safetensors
rm -rf out
"${ref[@]}" AMP.INIT_SCALE=1024 --resume fp32.safetensors --max-steps 3 >log 2>&1 || fail "fp16 after fp32"
[ "$(scale_of 3)" = 1024 ] ||
  fail "fp16 after fp32: the loss scale is $(scale_of 3)"
cp $run/last.safetensors fp16.safetensors
rm -rf out
"${ref[@]}" --loss-scale 64 --resume fp16.safetensors --max-steps 4 >log 2>&1 ||
  fail "AMP.LOSS_SCALE after a dynamic one"
[ "$(scale_of 4)" = 64 ] || fail "AMP.LOSS_SCALE 64: it is $(scale_of 4)"
echo "ok: the loss scale of a resumed run"

finish
