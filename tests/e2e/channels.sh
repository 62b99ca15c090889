#!/bin/bash
# Images with one, four, and five channels: training, evaluation, prediction, starting from RGB
# weights, and error messages where the number of channels does not fit.
#
#   tests/e2e/channels.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
golden=$here/tests/golden/image_channels

# NAME FILE FILE: makes two classes, each with many copies of one image.
classes() {
  local split i
  for split in train val; do
    mkdir -p "$1/$split/a" "$1/$split/b"
    for i in 1 2 3 4; do
      cp "$golden/$2" "$1/$split/a/$i.${2##*.}"
      cp "$golden/$3" "$1/$split/b/$i.${3##*.}"
    done
  done
}
score() { sed -n 's/.* \* Acc@1 \(.*\) (.*/\1/p' | tail -1; }
train() { # NAME CHANNELS OPTION...
  local name=$1 channels=$2
  shift 2
  "$trainc" --model resnet20 --in-chans "$channels" --data-path "$name" --device cpu -b 4 --epochs 2 --img-size 16 \
    --mixup 0 --cutmix 0 --output "out_$name" "$@" --opts TRAIN.WARMUP_EPOCHS=0 DATA.CACHE="${cache:-none}" >log 2>&1
}

"$trainc" synth shapes --out gray --classes 2 --train 12 --val 6 --size 16 2>/dev/null || exit 1
cp -r gray rgb
classes rgba rgba.png rgba.tif
classes bands pages.tif planes.tif

train rgb 3 || fail "training on RGB"
weights=out_rgb/resnet20/default/last.safetensors
for run in "gray 1" "rgba 4" "bands 5"; do
  read -r name channels <<<"$run"
  train "$name" "$channels" || fail "training: $name"
  trained=$(score <log)
  saved=out_$name/resnet20/default/last.safetensors
  "$trainc" eval --resume "$saved" --data-path "$name" --device cpu >log 2>&1 || fail "eval: $name"
  [ "$(score <log)" = "$trained" ] || fail "eval: another score: $name"
  "$trainc" predict --weights "$saved" "$name/val" >predicted 2>log || fail "predict: $name"
  [ "$(wc -l <predicted)" = "$(find "$name/val" -type f | wc -l)" ] || fail "predict: lines: $name"
  grep -q "MEAN: \[0.4733" "out_$name/resnet20/default/config.yaml" || fail "no mean of RGB: $name"
  # The first layer of RGB weights is adapted, and one line says so.
  train "$name" "$channels" --pretrained "$weights" --tag tuned || fail "fine-tuning: $name"
  expect_line "conv1.weight: the file has 16x3x3x3, the model 16x${channels}x3x3: for"
done
expect_line "116 tensors loaded"
cache=decoded train rgba 4 --mean 0.1 0.2 0.3 0.4 --std 0.5 --tag mean || fail "means by channel"

# The first layer is adapted as in timm: for gray pixels the summed weights compute what the RGB
# layer computes. So the RGB net and the one-channel net give the same answers for gray files.
mkdir files && for i in 1 2 3; do { printf 'P5\n16 16\n255\n'; head -c 256 /dev/urandom; } >files/$i.pgm; done
answers() { # CHANNELS MEAN STD...
  "$trainc" predict files --weights "$weights" --in-chans "$1" --no-amp --mean "${@:2:$1}" --std "${@:2+$1:$1}" 2>log
}
answers 3 0.5 0.5 0.5 0.25 0.25 0.25 >by_rgb
answers 1 0.5 0.25 >by_gray
expect_line "conv1.weight: the file has 16x3x3x3, the model 16x1x3x3: for gray images"
paste -d' ' by_rgb by_gray | awk '
  $1 == $6 && $2 == $7 && $3 - $8 < 1e-2 && $8 - $3 < 1e-2 { n++ }
  END { exit !(n == 3 && NR == 3) }' || { cat by_rgb by_gray; fail "predict: gray images by weights of RGB"; }
"$trainc" features --model resnet20 --in-chans 1 --mean 0.5 --std 0.5 --weights "$weights" --img-size 16 --out gray.npz \
  gray/val/*/*0.* >log 2>&1 || fail "features of gray"
expect_line "conv1.weight: the file has 16x3x3x3, the model 16x1x3x3: for gray images"

# Swin has its own key; either one sets the number of channels.
for key in MODEL.IN_CHANS MODEL.SWIN.IN_CHANS; do
  "$trainc" config --model swin_tiny_patch4_window7_224 --opts $key=4 >log 2>&1
  [ "$(grep -c " IN_CHANS: 4" log)" = 2 ] || fail "config: $key"
done

# Errors.
refused() { # NAME CHANNELS PATTERN OPTION...
  local name=$1 channels=$2 pattern=$3
  shift 3
  train "$name" "$channels" "$@" --tag refused && fail "taken: $name $channels $*"
  expect_line "$pattern"
}
refused rgb 4 "a JPEG is read as RGB, and MODEL.IN_CHANS is 4, which PNG and TIFF can have"
refused rgba 5 "it has 4 channels, and MODEL.IN_CHANS is 5"
refused bands 6 "it has 5 pages, and MODEL.IN_CHANS is 6"
refused rgba 4 "error: --mean: DATA.MEAN has 3 numbers, but images have 4 channels" --mean 0.1 0.2 0.3
refused rgba 4 "error: --aa: AUG.AUTO_AUGMENT is for gray and RGB images, but MODEL.IN_CHANS is 4" --aa original
refused rgba 4 "error: --reprob: AUG.REPROB is for gray and RGB images" --reprob 0.5
refused rgba 40 "error: --in-chans: MODEL.IN_CHANS must be in \[1, 32\], not 40"

finish
