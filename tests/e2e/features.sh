#!/bin/bash
# trainc features: arrays are the same in every format and batch size, pooled ones are their
# means, and unreadable images are reported; MODEL.FEATURES_ONLY in summary, and where it is
# rejected.
#
#   tests/e2e/features.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

floats() { # FILE.npy: prints its data without the header
  local header
  header=$(od -An -tu2 -j8 -N2 "$1")
  od -An -v -w4 -tf4 -j$((10 + header)) "$1"
}

"$trainc" synth shapes --out shapes --classes 2 --train 2 --val 5 --size 32 2>/dev/null || exit 1
args=(--model-type resnet --model test_resnet --img-size 32 --device cpu)

"$trainc" features "${args[@]}" --out a.npz shapes/val >said 2>log || fail "npz"
[ "$(cut -d' ' -f1,2 said | tr '\n' ' ')" = "0 act1 1 layer1 2 layer2 3 layer3 4 layer4 " ] ||
  fail "stages: $(cat said)"
grep -q "no weights were given" log || fail "no warning about random weights"
grep -q "layer3 *5 x 192 x 2 x 2 *channels 192, reduction 16" said || fail "shape: $(cat said)"
"$trainc" features "${args[@]}" --out-indices -1 --out b.npy shapes/val >said 2>log || fail "npy"
[ "$(floats b.npy | wc -l)" = $((5 * 96)) ] || fail "numbers in npy"
"$trainc" features "${args[@]}" --out-indices 4 --out c.npy --val-batch-size 2 shapes/val \
  >said 2>log || fail "batches of 2"
cmp -s <(floats b.npy | awk '{printf "%.4f\n", $1}') \
  <(floats c.npy | awk '{printf "%.4f\n", $1}') || fail "batches of 2: other numbers"
"$trainc" features "${args[@]}" --out-indices 4 --out d.safetensors shapes/val >said 2>log ||
  fail "safetensors"
[ "$(tail -c $((5 * 96 * 4)) d.safetensors | md5sum)" = "$(tail -c $((5 * 96 * 4)) b.npy | md5sum)" ] ||
  fail "safetensors and npy differ"

# The default is fp32, as in timm.
"$trainc" features "${args[@]}" --out-indices -1 --no-amp --out fp32.npy shapes/val >said 2>log && cmp -s fp32.npy b.npy ||
  fail "not in fp32"
"$trainc" features "${args[@]}" --out-indices -1 --amp-dtype bf16 --out bf16.npy shapes/val >said 2>log || fail "bf16"
cmp -s fp32.npy bf16.npy && fail "--amp-dtype bf16 does nothing"

# Pooling computes the mean of each 2 x 2 map.
"$trainc" features "${args[@]}" --out-indices 3 --out map.npy shapes/val >said 2>log || fail "maps"
"$trainc" features "${args[@]}" --out-indices 3 --pool --out mean.npy shapes/val >said 2>log ||
  fail "pooled"
paste <(floats map.npy | paste - - - -) <(floats mean.npy) |
  awk '{d = ($1 + $2 + $3 + $4) / 4 - $5; if (d < 0) d = -d; if (!(d <= 1e-4)) bad++} END {exit bad || NR != 960}' ||
  fail "pooled is no mean"

# A damaged image keeps its row.
cp -r shapes/val many && first=$(find many -type f | sort | head -1) && echo nothing >"$first"
"$trainc" features "${args[@]}" --out-indices 4 --out e.npy many >said 2>log
[ $? = 1 ] && grep -q "1 of 5 images could not be read" log || fail "no message about a damaged image"
[ "$(floats e.npy | head -96 | sort -u | tr -d ' ')" = nan ] || fail "a damaged image has features"
cmp -s <(floats e.npy | tail -n +97 | awk '{printf "%.4f\n", $1}') \
  <(floats b.npy | tail -n +97 | awk '{printf "%.4f\n", $1}') || fail "a damaged image moves others"

refused() { refuses "$1" "$trainc" "${@:2}"; } # PATTERN ARGUMENT...
refused "7 is no stage: there are 5, 0 to 4" features "${args[@]}" --out-indices 7 --out f.npz shapes/val
refused "named twice" features "${args[@]}" --out-indices 4 -1 --out f.npz shapes/val
refused "holds only one array" features "${args[@]}" --out f.npy shapes/val
refused "end the name in .npz, .npy, or .safetensors" features "${args[@]}" --out f.txt shapes/val
refused "no output file: give --out" features "${args[@]}" shapes/val
refused "no images" features "${args[@]}" --out f.npz
echo "a text" >f.npz
refused "not a file of arrays of trainc" features "${args[@]}" --out f.npz shapes/val
refused "omits the classifier" train "${args[@]}" --data-path shapes --opts MODEL.FEATURES_ONLY True
refused "omits the classifier" predict "${args[@]}" --weights d.safetensors \
  --opts MODEL.FEATURES_ONLY True -- shapes/val

# Layers after the last stage are neither built nor counted.
"$trainc" summary "${args[@]}" --opts MODEL.FEATURES_ONLY True MODEL.OUT_INDICES "[1]" >said 2>log ||
  fail "summary"
grep -q "stage 1: layer1, 32 channels of 8 x 8, reduction 4" said || fail "summary: no stage"
grep -q "^layer1.0.act" said && ! grep -q "layer2\|fc\|loss" said || fail "summary: more than the stage"

finish
