#!/bin/bash
# trainc check finds exactly the planted defects in class folders and label maps, and nothing in
# an intact data set.
#
#   tests/e2e/check.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

check() { "$trainc" check "$@" >log 2>&1; } # ARGUMENTS

"$trainc" synth shapes --out shapes --classes 3 --train 30 --val 9 --size 40 2>/dev/null || exit 1
for workers in 0 3; do
  check --data-path shapes --img-size 80 --num-classes 3 -j $workers || fail "sound: exit code"
  expect_line "no problems found"
  expect_line "^train: 30 images, 40 x 40 pixels; 3 classes of 10 "
done

# --show-batch: shows the first augmented images, the same for any number of workers.
sheet() { check --data-path shapes --img-size 48 --num-classes 3 -b 9 --show-batch "$@"; }
sheet a.png -j 0 || fail "--show-batch: exit code"
[ "$(grep -c "^row [1-4], column [1-4]: .* (shapes/train/.*)$" log)" = 16 ] || fail "--show-batch: a line per image"
expect_line "^wrote a.png: the first 16 training images, 48 x 48 pixels each (rows: 4, columns: 4)$"
[ "$(od -An -tu1 -j16 -N8 a.png | tr -s ' ')" = " 0 0 1 134 0 0 1 134" ] || fail "--show-batch: not 390 x 390 pixels"
sheet b.png -j 3 && cmp a.png b.png || fail "--show-batch: workers make a difference"
sheet b.png --aug-on-device && cmp a.png b.png || fail "--show-batch: AUG.ON_DEVICE makes a difference"
sheet b.png --opts "AUG.LIST=[{name: rotate, degrees: 45, p: 1}]" && ! cmp -s a.png b.png || fail "--show-batch: AUG.LIST makes no difference"
echo mine >other.png
sheet other.png && fail "--show-batch: another file was overwritten"
sheet a.png --out found.csv && fail "--show-batch with --out"
"$trainc" synth scenes --out streets --train 3 --val 1 --size 64 >log 2>&1 || fail "synth scenes"
check --cfg "$here/configs/erfnet.yaml" --data-path streets --show-batch maps.png || fail "--show-batch: label maps"
[ "$(grep -c "^row [1-3], column 1: .*road [0-9]* %" log)" = 3 ] || fail "--show-batch: the classes of label maps"

# Folders that macOS, file servers, and editors create are not classes; one note says so.
cp -r shapes left && mkdir -p left/{train,val}/{__MACOSX,@eaDir,.git,.ipynb_checkpoints}
touch left/train/__MACOSX/._a.jpg left/train/@eaDir/a.jpg
check --data-path left --img-size 80 --num-classes 3 || fail "folders of a system: exit code"
[ "$(grep -c "left/train': skipping folders that are not classes: .*__MACOSX" log)" = 1 ] || fail "folders of a system: the note"
expect_line "no problems found"
"$trainc" train --data-path left --img-size 16 --model resnet20 --max-steps 1 -b 2 --device cpu --output out >log 2>&1 || fail "folders of a system: training"

# One defect of each kind, at known places.
classes=(shapes/train/*)
first=("${classes[0]}"/*)
second=("${classes[1]}"/*)
val=("shapes/val/$(basename "${classes[0]}")"/*)
head -c $(($(stat -c %s "${first[3]}") * 4 / 5)) "${first[3]}" >cut && cp cut "${first[3]}"
cp "${first[0]}" "${first[1]}"
cp "${second[0]}" "${first[2]}"
cp "${second[4]}" "shapes/val/$(basename "${classes[1]}")/leak.${second[4]##*.}"
"$trainc" synth shapes --out small --classes 2 --train 2 --val 2 --size 16 2>/dev/null
cp small/train/*/*0.jpg "${val[0]}" 2>/dev/null || cp "$(ls small/train/*/* | head -1)" "${val[0]}"
check --data-path shapes --img-size 80 --num-classes 3 --out found.csv && fail "exit code of what is wrong"
for want in "1 damaged" "1 clashing" "1 leak" "1 duplicate" "1 tiny"; do
  grep -q "^$want: " log || fail "not found: $want"
done
grep -q "no problems found" log && fail "no problems found, in the end"
for want in "${first[3]#shapes/},damaged,train," "${first[1]#shapes/},duplicate,train," "leak.*,leak,val,the same as .*${second[4]##*/}" \
  ",clashing,train,the same as " "${val[0]#shapes/},tiny,val,16 x 16"; do
  grep -q "$want" found.csv || { cat found.csv; fail "not in the CSV: $want"; }
done
[ "$(wc -l <found.csv)" = 6 ] || fail "the CSV has $(wc -l <found.csv) lines"
# Two warnings and no error.
rm "${first[3]}" "${first[2]}" shapes/val/*/leak.*
check --data-path shapes --img-size 80 --num-classes 3 --out found.csv || fail "duplicates and tiny ones: exit code"
echo mine >other.csv
check --data-path shapes --img-size 80 --num-classes 3 --out other.csv && fail "another file was overwritten"
grep -q mine other.csv || fail "another file was overwritten"

# Label maps: one of the wrong size, one fully ignored.
"$trainc" synth scenes --out scenes --train 6 --val 2 --size 64 >log 2>&1 || fail "synth scenes"
check --cfg "$here/configs/erfnet.yaml" --data-path scenes || fail "sound label maps"
labels=(scenes/gtFine/train/*/*_labelIds.png)
"$trainc" synth scenes --out others --train 1 --val 1 --size 32 >/dev/null 2>&1
cp others/gtFine/train/*/*_labelIds.png "${labels[1]}"
check --cfg "$here/configs/erfnet.yaml" --data-path scenes && fail "another size passed"
grep -q "^1 damaged" log && grep -q "pixels, but its label map has 64 x 32\|pixels, but its label map has 32 x" log ||
  fail "a label map of another size"

# Missing paths.
check --data-path nowhere && fail "no folder passed"
expect_line "folder 'nowhere' not found"
rm -r shapes/val
check --data-path shapes --img-size 80 --num-classes 3 --val-split val || fail "only one split"
expect_line "the split 'val' is missing"
check --data-path shapes --img-size 80 --num-classes 3 || fail "only one split, a part of which validates"
expect_line "^val: 6 images"

finish
