#!/bin/bash
# Short runs with the same images in each storage, with 0, 1, 2, and 8 workers in turn: losses,
# scores, and weights are bit-exact, also if the device augments. A pack that is killed and
# restarted writes the same files.
#
#   tests/e2e/storages.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
workers=(0 1 2 8)
turn=0

formats=$("$trainc" pack --to nothing --out x 2>&1 | sed 's/.*one of \(.*\), not .*/\1/; s/,//g')
[ "$(wc -w <<<"$formats")" -ge 7 ] || fail "formats: $formats"

# Prints what two runs must have in common: the lines of metrics without times, and a hash of the
# weights without the file header.
numbers() { # RUN
  local file=$1/weights.safetensors
  sed -E 's/"(time|wall|seconds|images_per_second|data_share|[a-z_]*seconds)": ?[^,}]*,?//g' "$1/metrics.jsonl"
  "$trainc" export --weights "$1/last.safetensors" --out "$file" >/dev/null 2>&1
  tensor_bytes "$file" | sha256sum
}

run() { # NAME ARGUMENTS...
  local name=$1 j=${workers[turn++ % 4]}
  shift
  "$trainc" "$@" --output out --tag "$name" --device cpu -j "$j" >log 2>&1 ||
    { fail "$name with $j workers"; return; }
  numbers "$(dirname out/*/"$name"/last.safetensors)" >"$name.numbers"
}

compare() { # NAME WANT
  [ -s "$1.numbers" ] && cmp -s "$1.numbers" "$2.numbers" ||
    fail "$1 differs from $2: $(diff "$1.numbers" "$2.numbers" | head -4)"
}

# Classification. Decoded pixels are the same as long as no JPEG is decoded at reduced size.
"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 16 --size 20 >log 2>&1 || exit 1
classes=(--cfg "$here/configs/smoke/shapes.yaml" --epochs 2 --opts PRINT_FREQ=1 DATA.IMG_SIZE=16)
for j in 0 1 2 8; do
  run folder$j "${classes[@]}" --data-path shapes
  compare folder$j folder0
done
for to in $formats; do
  shard=(--shard 20)
  [ "$to" != zip ] || shard=() # one file per split
  "$trainc" pack --dataset folder --data-path shapes --to "$to" --out "c_$to" "${shard[@]}" >log 2>&1 ||
    fail "pack --to $to"
  run "$to" "${classes[@]}" --dataset "$to" --data-path "c_$to"
  compare "$to" folder0
done
for kind in train val; do
  (cd shapes && find $kind -name '*.*' -type f | LC_ALL=C sort | awk -F/ '{print $0, $2}') >shapes/$kind.txt
done
run list "${classes[@]}" --dataset list --data-path shapes
compare list folder0
for cache in encoded decoded mmap; do
  run cache_$cache "${classes[@]}" --data-path shapes --cache $cache
  compare cache_$cache folder0
  [ "$(grep -Ec "'shapes/.*(limit|at most) [0-9.]* GiB" log)" = 2 ] || fail "$cache: how much is not said"
done
run zip_full "${classes[@]}" --zip --data-path c_zip --cache-mode full
compare zip_full folder0
"$trainc" check "${classes[@]}" --zip --data-path c_zip --cache-mode full --cache decoded >log 2>&1
expect_line "DATA.CACHE_MODE has no effect: DATA.CACHE already keeps decoded images"
# If class names are numbers, the number of classes is unknown.
cp -r c_tar numbers && rm numbers/classes.txt
"$trainc" --cfg "$here/configs/resnet18.yaml" --img-size 32 -b 8 --dataset tar --data-path numbers --output numbers/out --device cpu \
  --epochs 1 --opts TRAIN.MAX_STEPS=1 LOG.REPORT=False TRAIN.WARMUP_EPOCHS=0 >log 2>&1 || fail "numbers"
expect_line "'numbers/train' is '3', but MODEL.NUM_CLASSES has its default, 1000"
"$trainc" --cfg "$here/configs/resnet18.yaml" --img-size 32 -b 8 --dataset tar --data-path c_tar --output numbers/out2 --device cpu \
  --epochs 1 --opts TRAIN.MAX_STEPS=1 LOG.REPORT=False TRAIN.WARMUP_EPOCHS=0 >log 2>&1 || fail "names"
grep -q "has no class after" log && fail "classes.txt is not enough"
echo "ok: classes"

# Augmentation and resizing on the device give the same results as in the loader.
augment=("${classes[@]}" --data-path shapes --train-crop-mode rrc --aa none --color-jitter 0.4 --reprob 0.5)
run vflip "${augment[@]}" --vflip 0.5
run vflip_on_device "${augment[@]}" --vflip 0.5 --aug-on-device
compare vflip_on_device vflip
operations='AUG.LIST=[{name: hflip}, {name: affine, degrees: 20, scale: [0.8, 1.2]}, {name: augmix}, {name: blur}]'
run operations "${classes[@]}" --data-path shapes --opts PRINT_FREQ=1 "$operations"
run operations_cache "${classes[@]}" --data-path shapes --cache decoded --opts PRINT_FREQ=1 "$operations"
compare operations_cache operations
run loader "${augment[@]}"
cmp -s operations.numbers loader.numbers && fail "AUG.LIST changes nothing"
cmp -s vflip.numbers loader.numbers && fail "no image is flipped vertically"
run on_device "${augment[@]}" --aug-on-device
compare on_device loader
run resized "${augment[@]}" --resize device
compare resized loader
cmp -s loader.numbers folder0.numbers && fail "nothing is augmented"
run alternate "${classes[@]}" --data-path shapes --hflip-mode alternate
run alternate_device "${classes[@]}" --data-path shapes --hflip-mode alternate --aug-on-device
compare alternate_device alternate
refused() { refuses "$1" "$trainc" "${@:2}" --output refused --device cpu; } # PATTERN ARGUMENT...
refused "DATA.RESIZE device: training crops are padded" "${classes[@]}" --data-path shapes --resize device
refused "DATA.RESIZE device: AUG.AUTO_AUGMENT takes resized images" "${augment[@]}" --aa ta_wide --resize device
refused "DATA.RESIZE device: AUG.VFLIP flips resized images" "${augment[@]}" --vflip 0.5 --resize device
"$trainc" "${classes[@]}" --data-path shapes --decode device --output decoded --device cpu >log 2>&1
expect_line "DATA.DECODE device: JPEGs are decoded by the host: DEVICE cpu decodes no images"
echo "ok: on the device"

# Label maps.
"$trainc" synth scenes --out scenes --train 8 --val 3 --size 96 >log 2>&1 || { fail "synth"; finish; }
maps=(--cfg "$here/configs/smoke/segment.yaml" --epochs 1 --class-set cityscapes19 --num-classes 19
  --opts PRINT_FREQ=1)
run cityscapes "${maps[@]}" --dataset cityscapes --data-path scenes
for to in $formats; do
  "$trainc" pack --dataset cityscapes --data-path scenes --class-set cityscapes19 --label-maps --to "$to" \
    --out "m_$to" >log 2>&1 || fail "pack --to $to of label maps"
  run "maps_$to" "${maps[@]}" --dataset "$to" --data-path "m_$to"
  compare "maps_$to" cityscapes
done

# A pack continues only with the same kind of label files.
cp -r m_tar other_labels && rm other_labels/val*.tar
"$trainc" pack --dataset cityscapes --data-path scenes --class-set cityscapes19 --label-maps --to tar --out other_labels \
  --opts DATA.LABELS=train_ids >log 2>&1
expect_line "'other_labels' holds other files"

# Label maps are mirrored with their images, also on the device.
draw=("${maps[@]}" --dataset cityscapes --data-path scenes --color-jitter 0.4 --shift 3 --vflip 0.5)
run maps_loader "${draw[@]}"
run maps_on_device "${draw[@]}" --aug-on-device
compare maps_on_device maps_loader
run maps_mirrored "${draw[@]}" --hflip 1
cmp -s maps_mirrored.numbers maps_loader.numbers && fail "no label map is mirrored"
run maps_mirrored_device "${draw[@]}" --hflip 1 --aug-on-device
compare maps_mirrored_device maps_mirrored
moves='AUG.LIST=[{name: hflip}, {name: rotate, degrees: 30, p: 0.9}, {name: perspective}, {name: noise}]'
run maps_list "${maps[@]}" --dataset cityscapes --data-path scenes --opts PRINT_FREQ=1 "$moves"
run maps_list_cache "${maps[@]}" --dataset cityscapes --data-path scenes --cache decoded --opts PRINT_FREQ=1 "$moves"
compare maps_list_cache maps_list
cmp -s maps_list.numbers cityscapes.numbers && fail "AUG.LIST changes nothing"
run maps_mosaic "${draw[@]}" --mosaic 0.5
run maps_mosaic_cache "${draw[@]}" --mosaic 0.5 --aug-on-device --cache decoded
compare maps_mosaic_cache maps_mosaic
cmp -s maps_mosaic.numbers maps_loader.numbers && fail "--mosaic changes nothing"
run maps_cache "${draw[@]}" --aug-on-device --cache decoded
compare maps_cache maps_loader
"$trainc" check "${draw[@]}" --hflip 0 --color-jitter 0 --aug-on-device >log 2>&1
expect_line "AUG.ON_DEVICE has no effect: neither AUG.HFLIP nor AUG.COLOR_JITTER is on"
echo "ok: label maps"

# Killed at a random moment and restarted.
pack=("$trainc" pack --dataset folder --data-path big --to tar --shard 50 -j 2 --size 100)
"$trainc" synth shapes --out big --classes 4 --train 600 --val 8 --size 200 >log 2>&1 || exit 1
"${pack[@]}" --out whole >log 2>&1 || fail "a pack"
for wait in 0.05 0.1 0.2; do
  "${pack[@]}" --out cut >log 2>&1 &
  sleep $wait
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
done
"${pack[@]}" --out cut >log 2>&1 || fail "a pack that continues"
diff -r whole cut >diff || fail "a pack that was killed made other files: $(head -3 diff)"
# Killed at startup; the files contain no times.
mkdir late && echo '{' >late/pack.json.tmp
"$trainc" pack --dataset folder --data-path shapes --to hdf5 --out late --shard 20 >log 2>&1 || fail "a pack killed at its start"
diff -r late c_hdf5 >diff || fail "HDF5 differs from one of the same: $(head -3 diff)"
# A failed pack writes nothing; one with different options does not continue.
"$trainc" pack --dataset folder --data-path nowhere --to tar --out typo >log 2>&1 && fail "no folder passed"
grep -q "folder 'nowhere'" log && [ ! -e typo ] || fail "no folder"
"$trainc" pack --dataset tar --data-path shapes --to tar --out typo >log 2>&1 && fail "folders passed as a tar"
grep -q "'shapes' has neither train.tar .*: .*folder" log && [ ! -e typo ] || fail "another storage"
echo text >nowhere.rec
"$trainc" pack --dataset recordio --data-path . --train-split nowhere.rec --to tar --out typo >log 2>&1 && fail "a text passed"
grep -q "it is not a RecordIO file" log && [ ! -e typo ] || fail "a file of another kind"
cp -r shapes fewer && rm -r fewer/val/"$(ls fewer/val | head -1)"
"$trainc" pack --dataset folder --data-path fewer --to tar --out typo >log 2>&1 && fail "two lists of classes passed"
grep -q "'fewer/val' and 'fewer/train' have different classes" log && [ ! -e typo ] || fail "two lists of classes"
# Patterns cannot name containers.
"$trainc" pack --dataset tar --data-path c_tar --train-split 'train-{000000..000003}.tar' --val-split val-000000.tar --to tar \
  --out renamed --num-classes 4 --shard 0 >log 2>&1 || fail "a pattern"
[ "$(cd renamed && ls *.tar)" = "train.tar"$'\n'"val-000000.tar.tar" ] || { ls renamed; fail "a pattern: names"; }
for other in --exif-rotate "--interpolation bilinear" "--shard 49"; do
  "${pack[@]}" --out cut $other >log 2>&1 && fail "$other: a pack of another kind went on"
  grep -q "'cut' holds other files" log || fail "$other: message"
done
for wrong in "--quality 0" "--size 0"; do
  "$trainc" pack --dataset folder --data-path big --to tar --out typo $wrong >log 2>&1
  [ $? = 2 ] && [ ! -e typo ] || fail "$wrong"
done
"$trainc" pack --dataset folder --data-path big --to tar --out kept --exif-rotate 2>&1 |
  grep -q "EXIF_ROTATE has no effect on pack" || fail "--exif-rotate: not said"
echo "ok: a pack that was killed"

finish
