#!/bin/bash
# Messages of a run: they are about this run, count from 1, and contain no useless numbers.
#
#   tests/e2e/messages.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

has_not() { grep -q -- "$1" log && fail "there is '$1'"; }

"$trainc" synth shapes --out shapes --classes 4 --train 30 --val 12 --size 16 2>/dev/null || exit 1
train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --threads 1 -j 1 --output out)

"${train[@]}" --epochs 2 --cache decoded --print-freq 3 >log 2>&1 || fail "a run"
expect_line "^DATA.DROP_LAST drops the incomplete last batch of each epoch: 6 of 30 images, different images every epoch$"
expect_line "^writing to out/resnet20/default$"
expect_line "^caching decoded images of 'shapes/train' in memory: about 22.5 KiB (limit .*)$"
expect_line "^caching decoded images of 'shapes/val' in memory: about 9.0 KiB (limit .*)$"
expect_line "^Train: \[1/2\]\[3/3\] .* loss .* grad_norm .* img/s"
expect_line "^Train: \[2/2\]\[3/3\]"
expect_line "^ \* Acc@1 [0-9.]* loss [0-9.]* (12 images"
expect_line "^Max accuracy: .*% (epoch [12])$"
[ "$(tail -1 log)" = "report page: out/resnet20/default/report.html" ] || fail "the report page is not named at the end"
has_not "\[0/2\]\|(epoch 0)\|Acc@5\|loss_scale"
if "$trainc" devices | grep -q "libcuda.so.1 is missing"; then
  expect_line "^no usable GPU (there is no NVIDIA driver: libcuda.so.1 is missing): training on the CPU$"
fi
# Files count from 0, like TRAIN.START_EPOCH and checkpoint names.
run=out/resnet20/default
[ "$(cut -d, -f1 $run/summary.csv | xargs)" = "epoch 0 1" ] || fail "epochs of summary.csv"
jq .epoch $run/metrics.jsonl | grep -qx 0 && [ -f $run/ckpt_epoch_1.safetensors ] || fail "epochs of files"
"${train[@]}" --tag fixed --epochs 1 --no-shuffle --warmup-epochs 0 >log 2>&1 || fail "--no-shuffle"
expect_line "^warning: DATA.DROP_LAST with DATA.SHUFFLE False drops the same 6 of 30 images"

# On a busy machine one line suggests fewer threads; on an idle machine there is no such line.
load=$(awk -v n="$(nproc --all)" '{ print $1 > 1.5 * n + 1 ? "busy" : $1 < 0.5 * n - 0.5 ? "idle" : "" }' /proc/loadavg)
"${train[@]}" --tag busy --epochs 1 --warmup-epochs 0 --threads 2 >log 2>&1 || fail "two threads"
if [ "$load" = busy ]; then expect_line "^the machine is busy with other programs (load average .*): --threads 1 may be faster than 2$"; fi
if [ "$load" = idle ]; then has_not "keep the machine busy"; fi

# Acc@5 is reported only with more than five classes.
"$trainc" synth shapes --out six --classes 6 --train 12 --val 12 --size 16 2>/dev/null || exit 1
"${train[@]}" --data-path six --num-classes 6 --tag six --epochs 1 --warmup-epochs 0 --result r.json >log 2>&1 || fail "six classes"
expect_line "Acc@1 [0-9.]* Acc@5 [0-9.]* loss"
[[ $(json_value r.json val_top5) == [0-9]* ]] || fail "six classes: no val_top5"

# fp16 scales the losses and names the steps that overflow.
fp16=("${train[@]}" --device ref --amp-dtype fp16 --epochs 1 --warmup-epochs 0)
"${fp16[@]}" --tag fp16 --opts AMP.INJECT_OVERFLOW_AT=2 >log 2>&1 || fail "fp16"
expect_line "^warning: step 2 skipped: gradients overflowed; loss scale 32768$"
expect_line "^Train: .* loss_scale 32768 "
"${fp16[@]}" --tag scale --opts AMP.INIT_SCALE=1.0e+30 AMP.MAX_SKIPS=9 >log 2>&1 || fail "a large loss scale"
expect_line "^warning: steps 1 to 3 skipped: gradients overflowed; loss scale "

# Subcommands that use trained weights do not mention training keys unless the user sets them, nor
# what the training run reported at its start.
best=$run/best.safetensors
"${train[@]}" --tag odd --epochs 1 --warmup-epochs 0 --pretrained $best \
  --opts MODEL.SWIN.EMBED_DIM=64 MODEL.PRETRAINED_SKIP='[layer3.*]' AUG.PAD_MODE=reflect AUG.PAD_CROP=0 >log 2>&1 || fail "unread keys"
expect_line "EMBED_DIM has no effect"
expect_line "PAD_MODE has no effect"
odd=out/resnet20/odd
for verb in "predict --weights $odd/best.safetensors shapes/val/star" "eval --resume $odd/best.safetensors" \
  "predict --cfg $odd/config.yaml --weights $odd/best.safetensors shapes/val/star" \
  "features --weights $odd/best.safetensors --out-indices 3 --pool --out all.npy shapes/val/star" \
  "export --weights $odd/best.safetensors --onnx x.onnx" "bench --inference --weights $odd/best.safetensors"; do
  # shellcheck disable=SC2086
  OMP_NUM_THREADS=1 "$trainc" $verb >log 2>&1 || fail "$verb"
  has_not "has no effect\|PRETRAINED_SKIP"
done
"$trainc" predict --weights $odd/best.safetensors shapes/val/star --opts MODEL.SWIN.EMBED_DIM=64 >log 2>&1
expect_line "^trainc: warning: --opts #1: MODEL.SWIN.EMBED_DIM has no effect"

"$trainc" bench --inference --weights $best -b 3 --threads 1 --seconds 0.1 >log 2>&1
expect_line ", batch 3, "

# Errors.
says() { # WHAT COMMAND...
  "${@:2}" >log 2>&1 && fail "${*:2}"
  expect_line "$1"
}
says "no model is called 'zzz'; \`trainc models\` lists [0-9]*$" "$trainc" summary --model zzz
says "no model is called 'resnet51' (did you mean resnet50?); \`trainc models\` lists [0-9]*$" "$trainc" summary --model resnet51
says "no model is called 'zzz'.*; a swin with another name needs MODEL.SWIN.DEPTHS" \
  "$trainc" summary --model zzz --model-type swin --opts MODEL.SWIN.EMBED_DIM=96
mkdir csv
printf 'image,label\na.jpg,0\n' >csv/train.txt
says "csv/train.txt:1: this looks like CSV: 'image,label'" "$trainc" check --dataset list --data-path csv

for verb in "test eval" "Validate eval" "fit train" "infer predict" "benchmark bench"; do
  says "unknown verb ${verb% *} (use trainc ${verb#* })$" "$trainc" ${verb% *}
done
says "unrecognized arguments: --cos-lr (here: --sched cosine, which is the default)" "$trainc" train --cos-lr
for format in torchscript tflite coreml; do
  says "unrecognized arguments: --$format (here: trainc export --weights FILE --onnx FILE" "$trainc" export --$format
done
# Files that hints mention are part of an installed package.
grep -o '"[^"]*scripts/[^"]*"' "$here/src/config/foreign.c" | grep -v 'in the sources or PREFIX/share/trainc' && fail "hints that a package cannot follow"

# Images that a net divides into less than a pixel.
small=("$trainc" train --model ghostnet_100 --data-path shapes --device cpu --threads 1 -j 1 -b 2 --max-steps 1 --output small)
"${small[@]}" --img-size 8 >log 2>&1 || fail "small images"
expect_line "ghostnet_100 divides the sides of images by 32, so its last layers see a single pixel of images of 8 x 8; MODEL.SKIP_STRIDES"
"${small[@]}" --img-size 8 --tag skips --opts MODEL.SKIP_STRIDES 2 >log 2>&1 || fail "fewer strides"
has_not "a single pixel"

finish
