#!/bin/bash
# trainc quantize: an 8-bit model gives nearly the answers of the float model in eval, predict,
# and ONNX; impossible requests are reported.
#
#   tests/e2e/quantize.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

near() { awk -v a="$1" -v b="$2" -v d="$3" 'BEGIN {exit !(a != "" && b != "" && a - b <= d && b - a <= d)}'; }

"$trainc" synth shapes --out shapes --classes 4 --train 80 --val 40 --size 32 2>/dev/null || exit 1
"$trainc" --model-type resnet --model resnet20 --data-path shapes --img-size 32 --device cpu \
  --batch-size 32 --epochs 3 --output out --opts TRAIN.WARMUP_EPOCHS 0 DATA.NUM_WORKERS 1 >log 2>&1 || { fail "train"; finish; }
w=$(find out -name last.safetensors)
"$trainc" eval --resume "$w" --result floats.json >log 2>&1 || fail "eval of floats"

for method in minmax percentile entropy; do
  "$trainc" quantize --weights "$w" --calib shapes/train -n 32 --out $method.safetensors \
    --opts QUANT.METHOD $method >log 2>&1 || fail "quantize by $method"
  grep -q "18 layers in int8, calibrated by $method on 32 images" log || fail "$method: what was done"
  "$trainc" eval --pretrained $method.safetensors --data-path shapes --result $method.json >log 2>&1 ||
    fail "eval of $method"
  near "$(json_value floats.json val_top1)" "$(json_value $method.json val_top1)" 3 ||
    fail "$method: top-1 $(json_value $method.json val_top1), not $(json_value floats.json val_top1)"
done
[ "$(wc -c <minmax.safetensors)" -lt $(($(wc -c <"$w") / 4)) ] || fail "8 bits are no smaller"

# Notes about float training are not repeated to readers of the file.
"$trainc" quantize --weights "$w" --calib shapes/train -n 8 --out keys.safetensors \
  --opts TRAIN.EMA.DECAY 0.5 AMP.DTYPE bf16 >log 2>&1 || fail "quantize with keys of training"
"$trainc" predict --weights keys.safetensors shapes/val >said 2>log || fail "predict"
! grep -q "has no effect" log || fail "predict warns of keys in the file"

# Quantizes all layers, or keeps some in float.
"$trainc" quantize --weights "$w" --calib shapes/train -n 8 --out all.safetensors \
  --opts QUANT.FIRST True QUANT.LAST True >log 2>&1 || fail "all layers"
expect_line "20 layers"
"$trainc" quantize --weights "$w" --calib shapes/train -n 8 --out some.safetensors \
  --opts QUANT.KEEP "[layer1.*]" >log 2>&1 || fail "layers that are kept"
expect_line "12 layers"
"$trainc" predict --weights all.safetensors shapes/val/*/*0.* >said 2>log || fail "predict"
[ -s said ] || fail "predict says nothing"
"$trainc" predict --weights all.safetensors --device ref shapes/val/*/*0.* >ref 2>log || fail "predict by the reference"
cmp -s <(cut -d' ' -f2 said) <(cut -d' ' -f2 ref) || fail "the reference predicts other classes"
"$trainc" export --weights all.safetensors --onnx all.onnx >log 2>&1 || fail "export to ONNX"
grep -aq QuantizeLinear all.onnx && grep -aq "layer1.0.conv1.weight_int8" all.onnx || fail "no QDQ in ONNX"

# Prints its speed and the time of each step.
"$trainc" bench --inference --weights all.safetensors --val-batch-size 4 --seconds 0.1 --trace --json speed.json \
  >log 2>&1 || fail "bench"
[ "$(json_value speed.json dtype)" = int8 ] && [ "$(json_value speed.json batch)" = 4 ] || fail "bench: $(cat speed.json)"
awk -v v="$(json_value speed.json images_per_second)" 'BEGIN {exit !(v > 0)}' || fail "bench: no speed"
expect_line "cpu qlayer\|reference"

refused() { exits "$1" "$2" "$trainc" "${@:3}"; } # CODE PATTERN ARGUMENT...
refused 2 "has no effect without --inference" bench --weights all.safetensors
refused 2 "no calibration images" quantize --weights "$w" --out x.safetensors
refused 2 "no output file: give --out" quantize --weights "$w" --calib shapes/train
refused 2 "must be one of minmax" quantize --weights "$w" --calib shapes/train --out x.safetensors --opts QUANT.METHOD mean
refused 2 "the output is a safetensors file" quantize --weights "$w" --calib shapes/train --out x.pth
mkdir bad && head -c 300 "$(ls shapes/train/*/*0.* | head -1)" >bad/a.jpg
refused 1 "calib: all 1 images are unreadable" quantize --weights "$w" --calib bad --out x.safetensors
cp "$(dirname "$(ls shapes/train/*/*0.* | head -1)")"/*0.* bad && "$trainc" quantize --weights "$w" --calib bad --out x.safetensors >log 2>&1
expect_line "on $(($(ls bad | wc -l) - 1)) images"
cp "$here/tests/golden/io/compiled.pth" nameless.pth
refused 2 "'nameless.pth' does not name its model" quantize --weights nameless.pth --calib bad --out x.safetensors
refused 2 "must be a number of images" quantize --weights "$w" --calib shapes/train --out x.safetensors -n 0
refused 2 "is the file of the float weights" quantize --weights "$w" --calib shapes/train --out "$w"
refused 1 "all.safetensors' is an 8-bit model" quantize --weights all.safetensors --calib shapes/train --out x.safetensors
refused 2 "QUANT.KEEP: no convolution or linear layer of resnet20 matches 'layer9" quantize --weights "$w" \
  --calib shapes/train --out x.safetensors --opts QUANT.KEEP "['layer1.*', 'layer9.*']"
refused 1 "leaves no layer" quantize --weights "$w" --calib shapes/train --out x.safetensors --opts QUANT.KEEP "['*']"
refused 2 "they support neither training nor feature extraction" train --cfg "$here/configs/smoke/synthetic.yaml" --opts QUANT.ENABLE True
refused 1 "is a floating-point model, but QUANT.ENABLE is True: convert it with trainc quantize" eval --resume '' --pretrained "$w" --data-path shapes --model resnet20 --model-type resnet \
  --img-size 32 --num-classes 4 --opts QUANT.ENABLE True

finish
