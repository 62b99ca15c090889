#!/bin/bash
# DATA.DECODE device on the emulated GPU: nvJPEG decodes the JPEGs of training and validation, with
# the same result for any number of workers. If it is missing or does not start, one line says so
# and the host decodes the same images as without the key; the host also decodes a CMYK image and
# a truncated one. AUG.ON_DEVICE: the losses equal those with the loader's augmentation, for label
# maps, too; DATA.RESIZE device: those with the loader's resize.
#
#   tests/emulator/nvjpeg.sh     EMULATED is the folder of the emulated libraries
. "$(dirname "$0")/../e2e/lib.bash" "${EMULATED:-build/cc/emulated}/../trainc-emulated"
[ -x "$trainc" ] || { echo "skipped: no emulator"; exit 77; }

"$trainc" synth shapes --out png --classes 4 --train 16 --val 4 --size 40 >log 2>&1 || { cat log; exit 1; }
"$trainc" pack --dataset folder --data-path png --to tar --out jpeg --quality 90 --size 36 >log 2>&1 || { cat log; exit 1; }
losses() { # NAME ARGUMENTS...
  local name=$1
  shift
  "$trainc" --cfg "$here/configs/smoke/shapes.yaml" --dataset tar --data-path jpeg --device cuda --deterministic --epochs 1 --output out \
    --tag "$name" "$@" --opts PRINT_FREQ=1 DATA.IMG_SIZE=16 CUDNN.CACHE= >log 2>&1 || fail "$name"
  jq -r 'select(.kind == "train") | "\(.step) \(.loss)"' out/*/"$name"/metrics.jsonl >"$name.loss"
  [ -s "$name.loss" ] || fail "$name: no losses"
}
losses host -j 2
losses device0 -j 0 --decode device
grep -q "nvJPEG 13.* decodes JPEGs" log || fail "nvJPEG is not said"
losses device2 -j 2 --decode device
cmp -s device0.loss device2.loss || fail "workers change what nvJPEG decodes"
cmp -s host.loss device0.loss && fail "nvJPEG has not decoded anything"
paste host.loss device0.loss | awk '{d = $2 - $4; if (!(d < 0.2 && d > -0.2)) exit 1}' || fail "nvJPEG's losses are far off"
TRAINC_NVJPEG=/nowhere/libnvjpeg.so.13 losses none -j 2 --decode device
grep -q "DATA.DECODE device: JPEGs are decoded by the host: cannot open nvJPEG, which TRAINC_NVJPEG names" log ||
  fail "no nvJPEG: not said"
cmp -s host.loss none.loss || fail "no nvJPEG: other losses than the host's"
EMULATED_NVJPEG_FAILS=1 losses broken -j 2 --decode device
grep -q "decoded by the host: nvjpegCreateSimple failed with status 1" log || fail "a broken nvJPEG: not said"
cmp -s host.loss broken.loss || fail "a broken nvJPEG: other losses than the host's"
echo "ok: nvJPEG"

# Images that nvJPEG rejects. Damage is detected as without it.
mkdir -p odd/train/{a,b} odd/val/{a,b}
cp "$here"/tests/golden/image_decode/cmyk.jpg odd/train/a/1.jpg
cp "$here"/tests/golden/image_decode/gray.jpg odd/train/b/2.jpg
head -c 300 "$here"/tests/golden/image_decode/extra.jpg >odd/train/a/3.jpg
cp "$here"/tests/golden/image_decode/extra.jpg odd/train/a/4.jpg
cp odd/train/a/4.jpg odd/val/a/1.jpg; cp odd/train/a/4.jpg odd/val/b/1.jpg
"$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path odd --device cuda --epochs 1 --batch-size 4 --output odd_out \
  --decode device --num-classes 2 --opts DATA.IMG_SIZE=16 CUDNN.CACHE= >log 2>&1 || fail "odd images"
[ "$(grep -c "skipping 'odd/train/a/3.jpg'" log)" = 1 ] && [ "$(grep -c "cannot decode it" log)" = 1 ] ||
  fail "odd images: what is damaged"
echo "ok: what nvJPEG refuses"

# The same augmentations by the loader and on the device.
aug=(-j 2 --aa none --color-jitter 0.4 --reprob 0.5 --hflip 0.5)
losses loader "${aug[@]}"
losses ours "${aug[@]}" --aug-on-device
cmp -s loader.loss ours.loss || fail "AUG.ON_DEVICE: $(diff loader.loss ours.loss | head -4)"
cmp -s loader.loss host.loss && fail "nothing is augmented"
losses resized "${aug[@]}" --train-crop-mode rrc --resize device
losses cropped "${aug[@]}" --train-crop-mode rrc
cmp -s cropped.loss resized.loss || fail "DATA.RESIZE: $(diff cropped.loss resized.loss | head -4)"
echo "ok: augmentation and resize on the device"

# Label maps and their images.
maps() { # NAME ARGUMENTS...
  local name=$1
  shift
  "$trainc" --cfg "$here/configs/smoke/segment.yaml" --device cuda --deterministic --epochs 1 --output out --tag "$name" \
    --color-jitter 0.4 "$@" --opts PRINT_FREQ=1 DATA.TRAIN_NUM_SAMPLES=12 DATA.VAL_NUM_SAMPLES=3 CUDNN.CACHE= >log 2>&1 ||
    fail "$name"
  jq -r 'select(.kind == "train") | "\(.step) \(.loss)"' out/*/"$name"/metrics.jsonl >"$name.loss"
  [ -s "$name.loss" ] || fail "$name: no losses"
}
maps maps
maps maps_device --aug-on-device
cmp -s maps.loss maps_device.loss || fail "label maps: $(diff maps.loss maps_device.loss | head -4)"
maps maps_plain --hflip 0
cmp -s maps.loss maps_plain.loss && fail "no label map is mirrored"
echo "ok: label maps"

finish
