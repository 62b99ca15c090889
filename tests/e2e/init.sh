#!/bin/bash
# trainc init: for each supported layout of images, the printed configuration gives a reason for
# each value and trains; for others, the message says why there is none (init_doubt.sh: ambiguous layouts).
#
#   tests/e2e/init.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
. "$here/tests/e2e/layouts.bash"

value() { sed -n "s/^ *$2: \([^#]*[^# ]\) *#.*/\1/p" "$1" | head -1; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is '$(value "$1" "$2")', not '$3'"; }

trains() { # NAME, then the arguments of init
  local name=$1
  shift
  "$trainc" init "$@" >"$name.yaml" 2>"$name.log" || { cat "$name.log"; fail "$name: init"; return; }
  grep -E '^ +[A-Z_]+: [^ ]' "$name.yaml" | grep -v '# .' && fail "$name: values without a reason"
  "$trainc" config --check --cfg "$name.yaml" >log 2>&1 && [ ! -s log ] || fail "$name: the configuration is not clean"
  "$trainc" --cfg "$name.yaml" --output "out.$name" --device cpu --opts TRAIN.MAX_STEPS=1 >log 2>&1 ||
    fail "$name: it does not train"
  # Both report classes without pixels.
  grep -o 'the [0-9]* label maps that were read have no pixels of .*' "$name.log" >told
  grep -q 'have no pixels of' log && { grep -qFf told log && [ -s told ] || fail "$name: init does not warn of absent classes"; }
  grep -v 'have no pixels of' log | grep -q 'warning' && { grep warning log; fail "$name: training warns"; }
}

"$trainc" synth shapes --out split --classes 3 --train 60 --val 30 --size 32 2>/dev/null || exit 1
rm split/train/"$(ls split/train | head -1)"/*[1-9].*
mkdir flat && cp -r split/train/* flat && cp -r split/val only && mkdir half && cp -r split/train half/training
trains split split
is split.yaml NAME resnet20
is split.yaml NUM_CLASSES 3
is split.yaml TRAIN_SPLIT train
is split.yaml VAL_SPLIT val
is split.yaml IMG_SIZE 32
expect_line '^# 3 classes: [0-9]* (.*) to [0-9]* (.*) images each' split.yaml
expect_line 'The largest class has [0-9.]* times as many images as the smallest' split.yaml
trains flat flat
is flat.yaml VAL_FRACTION 0.2
trains half half
is half.yaml TRAIN_SPLIT training
is half.yaml VAL_FRACTION 0.2
trains lists flat --lists lists.d
is lists.yaml DATASET list
n=$(cat lists.d/train.txt lists.d/val.txt | sort -u | wc -l) all=$(find flat -type f | wc -l)
[ "$n" = "$all" ] || fail "the lists have $n of $all images"
for c in flat/*; do grep -q "	${c#flat/}\$" lists.d/val.txt || fail "no image of ${c#flat/} is for validation"; done
trains halflists half --lists half.d
is halflists.yaml VAL_SPLIT val

# Label maps: a known layout, and sibling folders with and without splits.
"$trainc" synth scenes --out scenes --train 12 --val 4 2>/dev/null || exit 1
trains scenes scenes
is scenes.yaml DATASET cityscapes
is scenes.yaml CLASS_SET cityscapes19
is scenes.yaml NUM_CLASSES 19
is scenes.yaml IMG_WIDTH 128
is scenes.yaml IMG_HEIGHT 64
is scenes.yaml CLASS_WEIGHTS auto
mkdir -p pairs/images pairs/masks both/{train,val}/{images,labels}
for f in scenes/leftImg8bit/*/*/*.png; do
  n=$(basename "$f" _leftImg8bit.png)
  label=${f/leftImg8bit/gtFine}
  label=${label%_leftImg8bit.png}_gtFine_labelIds.png
  split=$(echo "$f" | cut -d/ -f3)
  cp "$f" "pairs/images/$n.png" && cp "$label" "pairs/masks/${n}_mask.png"
  cp "$f" "both/$split/images/$n.png" && cp "$label" "both/$split/labels/$n.png"
done
trains pairs pairs --lists pairs.d
n=$(ls pairs/images | wc -l)
[ "$(wc -l <pairs.d/train.txt) $(wc -l <pairs.d/val.txt)" = "$((n - (n + 9) / 10)) $(((n + 9) / 10))" ] || fail "pairs: $(wc -l pairs.d/*)"
is pairs.yaml NUM_CLASSES 27 # the largest of Cityscapes' ids in the scenes is 26
trains both both
is both.yaml DATASET pairs
is both.yaml VAL_SPLIT val
expect_line '^# 12 training and 4 validation images' both.yaml

# Checks only the detected layout; init_trains.sh trains on each.
layouts_begin "$trainc" || exit 1
found() { # LAYOUT STORAGE TRAIN VAL
  "layout_$1" "$1" && "$trainc" init "$1" >"$1.yaml" 2>log || { fail "$1: init"; return; }
  is "$1.yaml" DATASET "$2"
  is "$1.yaml" TRAIN_SPLIT "$3"
  is "$1.yaml" VAL_SPLIT "$4"
}
found class_sets folder training_set test_set
found class_capitals folder Train Validation
found class_masked folder "''" ''
found class_mac folder train val
expect_line "class_mac/train': skipping folders that are not classes: __MACOSX"
found class_and_csv folder "''" ''
grep -q "^# '.*metadata.csv', next to the images, is not read" class_and_csv.yaml || { cat class_and_csv.yaml; fail "a CSV file is not mentioned"; }
found map_membrane pairs train ''
is map_membrane.yaml NUM_CLASSES 2
is map_membrane.yaml LABEL_MAP '[[255, 1]]'
grep -q "images in train/image and label maps in train/label; 12 of 12" map_membrane.yaml || { head -3 map_membrane.yaml; fail "membrane: nothing says what it is taken for"; }
found map_carvana pairs train ''
found map_prepped pairs train test
found map_annot pairs train val
found map_mmseg pairs train val
found map_years pairs train2017 val2017
found map_nested pairs train val
found map_split_below pairs training validation
found map_capitals pairs "''" ''
found map_some pairs "''" ''
expect_line "images without a label map in masks (1 of 16)"
found map_zip zip train val

# Gray images, larger images, and images in containers.
mkdir -p gray/train/{a,b} gray/val/{a,b}
for i in 1 2 3 4 5 6 7 8; do
  for c in a b; do
    { printf 'P5\n200 180\n255\n'; head -c 36000 /dev/urandom; } >"gray/train/$c/$i.pgm"
    cp "gray/train/$c/$i.pgm" gray/val/$c/
  done
done
trains gray gray
is gray.yaml IN_CHANS 1
is gray.yaml NAME resnet18
is gray.yaml IMG_SIZE 224
grep -q 'CROP_PCT: 0.95 *# the input of resnet18' gray.yaml || { cat gray.yaml; fail "the input of another model"; }
# Classes named by numbers, images of 8 x 8 pixels: the lists contain indices, and no image counts
# as damaged. A run of a few epochs learns.
mkdir -p digits/{0..11}
for c in {0..11}; do
  for i in {1..30}; do
    { printf 'P5\n8 8\n255\n'; head -c $((c * 5)) /dev/zero; head -c $((64 - c * 5)) /dev/urandom; } >"digits/$c/$i.pgm"
  done
done
trains digits digits --lists digits.d
is digits.yaml NUM_CLASSES 12
is digits.yaml IMG_SIZE 16
grep -qE 'damaged|cannot decode' log && fail "digits: images are left out"
[ "$(sed -n 3p digits.d/classes.txt)" = 10 ] || fail "digits: classes.txt"
[ "$(cut -f2 digits.d/val.txt | sort -un | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 8 9 10 11 " ] || fail "digits: the classes of val.txt"
"$trainc" --cfg digits.yaml --epochs 8 --output few --device cpu >log 2>&1 || fail "digits: a short run"
awk '/^Max accuracy/ { sub("%", "", $3); best = $3 } END { exit best < 60 }' log || { grep Max log; fail "digits: a short run does not learn"; }
# Derived values have a reason and follow from values that the user set.
"$trainc" config --cfg digits.yaml --epochs 10 >log 2>&1
expect_line 'SCALE_LR: false  # job: '
expect_line 'EPOCHS: 10  # --epochs'
grep -q "RAMP_STEPS: 2[0-9].0  # job: a tenth of the run" log || { grep RAMP log; fail "the EMA does not follow the epochs"; }
"$trainc" config --cfg digits.yaml --opts DEFAULTS=swin | grep '# job' && fail "DEFAULTS swin has values of the job"
"$trainc" config --data-path split --output o >log 2>&1
grep -q 'NAME: resnet20  # job: ' log && grep -q 'PAD_CROP: 4  # job: ' log || fail "without a file, nothing follows from the images"
"$trainc" config --cfg <(echo 'MODEL: {NAME: resnet20, TYPE: resnet}') --data-path split | grep '# job' && fail "a recipe's values do not stay"
# A list with numeric classes and no names.
mkdir numbers && cp -r flat numbers/i && (cd numbers && k=0; for c in i/*; do for f in "$c"/*; do echo "$f $k"; done; k=$((k + 1)); done >train.txt; cp train.txt val.txt)
trains numbers numbers
is numbers.yaml NUM_CLASSES 3
# Statements about image size are true at each median side of 40, 100, 150, 180, and 300 pixels. A
# list that repeats two images simulates many images.
for want in 40:resnet20:40: 100:resnet50:128:enlarged 150:resnet50:128: 180:resnet50:224:enlarged 300:resnet50:224:; do
  IFS=: read -r side net size enlarged <<<"$want"
  mkdir -p "many$side"
  for c in a b; do
    { printf 'P6\n%d %d\n255\n' "$side" $((side + 5)); head -c $((3 * side * (side + 5))) /dev/urandom; } >"many$side/$c.ppm"
  done
  for i in {1..10000}; do printf 'a.ppm\t0\nb.ppm\t1\n'; done >"many$side/train.txt"
  head -20 "many$side/train.txt" >"many$side/val.txt"
  printf "a\nb\n" >"many$side/classes.txt"
  "$trainc" init "many$side" >many.yaml 2>log || fail "many$side"
  is many.yaml NAME "$net"
  is many.yaml IMG_SIZE "$size"
  grep -q 'large enough' many.yaml && fail "$side pixels are large enough"
  grep -q "^ *IMG_SIZE: .*# the median shorter side is $side${enlarged:+, so images are $enlarged}\$" many.yaml || { grep IMG_SIZE many.yaml; fail "$side: what is said of the size"; }
done
"$trainc" pack --cfg split.yaml --to tar --out tar >log 2>&1 || fail "pack"
trains tar tar
is tar.yaml DATASET tar

rejects() { # PATTERN ARGUMENT...
  "$trainc" init "${@:2}" >out.yaml 2>log
  [ $? = 2 ] && [ ! -s out.yaml ] && [ "$(wc -l <log)" -le 2 ] && grep -q -e "$1" log || fail "init ${*:2}"
}
mkdir empty
rejects 'no known data set layout in' empty
rejects "'nowhere' is not a folder" nowhere
rejects 'no folder given'
rejects '--as: must be a storage that reads files' pairs --as synthetic
rejects "--as: .*did you mean folder" pairs --as folders
rejects "--as voc: '.*pairs' does not have this layout" pairs --as voc
rejects '--lists has no effect' split --lists more.d
mkdir -p one/a one/b && cp flat/square/*.jpg one/b && cp one/b/0003.jpg one/a
rejects "has only one image of class 'a'" one --lists one.d
rejects 'already exists' flat --lists lists.d
mkdir val.d && touch val.d/val.txt
rejects 'already exists' flat --lists val.d
[ ! -e val.d/train.txt ] || fail "one of two lists was written"

finish
