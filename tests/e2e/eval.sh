#!/bin/bash
# trainc eval reproduces the validation scores of training for weights and EMA weights, at any
# validation batch size (padding is not counted), with and without a configuration file;
# THROUGHPUT_MODE.
#
#   tests/e2e/eval.sh [TRAINC]
. "$(dirname "$0")/eval.bash"

for device in cpu ref; do
  [ $device = cpu ] || { # eval.bash has trained on the CPU
    rm -rf out
    "$trainc" "${args[@]}" --device $device --result train.json >log 2>&1 || fail "$device: training"
  }
  "$trainc" eval "${args[@]}" --device $device --resume $run/last.safetensors \
    --result eval.json >log 2>&1 || fail "$device: eval"
  same_values train.json eval.json val_loss val_top1 ema_top1 steps epochs
  "$trainc" --eval "${args[@]}" --device $device --resume $run/last.safetensors \
    --result swin.json >log 2>&1 || fail "$device: --eval"
  same_values train.json swin.json val_loss val_top1 ema_top1
  # 22 images: one batch of 22, 4 batches of 5 plus 2, and 64 slots of which 42 are padding.
  for batch in 22 5 64; do
    "$trainc" eval "${args[@]}" --device $device --resume $run/last.safetensors \
      --val-batch-size $batch --result batch.json >log 2>&1 || fail "$device: $batch"
    same_values train.json batch.json val_top1 ema_top1
    grep -q "(22 images" log || fail "$device: batch $batch counts other than 22 images"
  done
  [ "$(json_value train.json exit)" = 0 ] && [ "$(json_value train.json epochs)" = 2 ] &&
    [ "$(json_value train.json steps)" = 8 ] || fail "$device: result of training"
done

# Frozen parameters are stored after the others, also for evaluation.
frozen=(--device cpu --opts TRAIN.FREEZE "['*.bias', 'layer2.*']")
rm -rf out
"$trainc" "${args[@]}" "${frozen[@]}" --result train.json >log 2>&1 || fail "frozen: training"
"$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --result eval.json >log 2>&1 ||
  fail "frozen: eval"
same_values train.json eval.json val_loss val_top1 ema_top1

# Weights only, as from another program.
"$trainc" eval "${args[@]}" --device cpu --pretrained $run/last.safetensors \
  --opts MODEL.PRETRAINED_SKIP "['fc.*']" >log 2>&1 || fail "eval of --pretrained"
expect_line "116 tensors loaded"
grep -q "MODEL.PRETRAINED_SKIP ignores" log && fail "--pretrained: a pattern was needed"

# --resume on the command line overrides a configuration's MODEL.RESUME.
printf 'BASE: [%s]\nMODEL:\n  RESUME: %s\n' "$here/configs/smoke/shapes.yaml" $run/last.safetensors >resume.yaml
named=(--cfg resume.yaml --data-path shapes --output out --device cpu)
for verb in eval --eval; do
  refuses "--pretrained: .*best.*' would be ignored, because MODEL.RESUME .* (resume.yaml:3:3)" \
    "$trainc" $verb "${named[@]}" --pretrained $run/best.safetensors
done
"$trainc" eval "${named[@]}" --pretrained $run/best.safetensors --resume= >log 2>&1 || fail "eval --pretrained --resume="
expect_line "116 tensors loaded"
"$trainc" eval "${named[@]}" --pretrained nowhere --resume $run/last.safetensors >log 2>&1 ||
  fail "eval --pretrained --resume"
expect_line "--pretrained: 'nowhere' is ignored"
printf 'MODEL:\n  PRETRAINED: nowhere\n' >pretrained.yaml
"$trainc" eval "${named[@]}" --cfg pretrained.yaml >log 2>&1 || fail "eval of MODEL.RESUME"

"$trainc" --throughput "${args[@]}" --device cpu --result t.json >log 2>&1 ||
  fail "--throughput"
expect_line "batch_size 8 throughput [0-9]"

# Unused EMA weights are mentioned; weights with another classifier are rejected.
"$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --no-model-ema >log 2>&1 ||
  fail "--no-model-ema"
expect_line "ignoring the EMA weights in "
"$trainc" export --weights $run/last.safetensors --out alone.safetensors >log 2>&1 || fail "export"
"$trainc" synth shapes --out three --classes 3 --train 3 --val 3 --size 16 2>log || fail "synth"
other=("${args[@]}" --device cpu --data-path three --num-classes 3 --pretrained alone.safetensors)
exits 1 "set DATA.CHECK_CLASSES False" "$trainc" eval "${other[@]}"
exits 1 "does not match" "$trainc" eval "${other[@]}" --opts DATA.CHECK_CLASSES=False

# A checkpoint needs no configuration file: it contains the configuration, as do exported weights.
"$trainc" eval --resume $run/last.safetensors --result bare.json >log 2>&1 ||
  fail "eval of a checkpoint without --cfg"
"$trainc" eval "${args[@]}" --resume $run/last.safetensors --result eval.json >log 2>&1
same_values eval.json bare.json val_loss val_top1 ema_top1
"$trainc" export --weights $run/last.safetensors --out bare.safetensors >log 2>&1 &&
  "$trainc" eval --pretrained bare.safetensors --result exported.json >log 2>&1 ||
  fail "eval of exported weights without --cfg"
[ "$(json_value exported.json val_top1)" = "$(json_value bare.json ema_top1)" ] || fail "eval of exported weights: other figures"
image=$(ls shapes/val/circle/* | head -1)
"$trainc" predict --cfg $run/config.yaml --weights $run/last.safetensors "$image" >with 2>log &&
  "$trainc" predict --weights $run/last.safetensors "$image" >without 2>log && cmp -s with without ||
  fail "predict from a checkpoint without --cfg"
refuses "has 4 classes, but MODEL.NUM_CLASSES is 3" "$trainc" eval --resume $run/last.safetensors --num-classes 3

finish
