#!/bin/bash
# Data that nothing can be learned from is reported at startup, in the same words by init, check,
# and train: masks of 0 and 255, a single value, all pixels ignored, one class, inconsistent
# splits.
#
#   tests/e2e/judge.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

check() { "$trainc" check "$@" -j 1 >log 2>&1; }
train() { "$trainc" "$@" -j 1 --device cpu --output "out$RANDOM" --opts TRAIN.MAX_STEPS=1 LOG.REPORT=False >log 2>&1; }

# NAME OCTAL...: makes four images per split, and label maps with the first and the last of these
# values, half each.
masks() {
  local name=$1 i
  shift
  mkdir -p "$name"
  for i in 0 1 2 3 4 5 6 7; do
    { printf 'P6\n16 16\n255\n'; head -c 768 /dev/urandom; } >"$name/$i.ppm"
    { printf 'P5\n16 16\n255\n'; for half in "$1" "${!#}"; do for _ in {1..128}; do printf "%b" "\\0$half"; done; done; } >"$name/$i.pgm"
    echo "$i.ppm $i.pgm"
  done >"$name/all.txt"
  head -4 "$name/all.txt" >"$name/train.txt" && tail -4 "$name/all.txt" >"$name/val.txt" && rm "$name/all.txt"
}

masks binary 0 377
"$trainc" init binary >binary.yaml 2>log || fail "init"
grep -q '^  NUM_CLASSES: 2 ' binary.yaml && grep -q '^  LABEL_MAP: \[\[255, 1\]\] ' binary.yaml || fail "init of masks of 0 and 255: $(grep -E 'CLASSES|LABEL' binary.yaml)"
[ -s log ] && fail "init of masks of 0 and 255 warns of what it proposes"
check --cfg binary.yaml --opts DATA.LABEL_MAP=[] || fail "check of masks of 0 and 255: exit code"
expect_line "the 4 label maps that were read have only the class 'class0' and ignored pixels (50.0 %): for masks of 0 and 255 set DATA.LABEL_MAP"
grep -q "no problems found" log && fail "check finds no problems"
check --cfg binary.yaml --opts DATA.LABEL_MAP=[] MODEL.NUM_CLASSES=1 && fail "check of one class of pixels: exit code"
expect_line "^refused .*nothing to learn: the 4 label maps that were read have only the class"
train --cfg binary.yaml --opts DATA.LABEL_MAP=[] MODEL.NUM_CLASSES=1 && fail "train on one class of pixels: exit code"
expect_line "nothing to learn: the 4 label maps that were read have only the class"
check --cfg binary.yaml || fail "check of what init wrote"
expect_line "remark *train: DATA.LABEL_MAP changes the value 255 to 1 ('class1', 50.0 % of all pixels)"
train --cfg binary.yaml || fail "train of what init wrote"
grep -q "warning" log && fail "train of what init wrote warns"
expect_line "class1 .* 50.000 %"

# Values 0 and 5: LABEL_MAP and REDUCE_ZERO_LABEL ([0 ignored, 2 -> 1]) leave one of two classes.
masks five 0 5
check --cfg binary.yaml --data-path five --opts "DATA.LABEL_MAP=[[5, 2]]" DATA.REDUCE_ZERO_LABEL=True || fail "REDUCE_ZERO_LABEL"
expect_line "have only the class 'class1' and ignored pixels (50.0 %)"
check --cfg binary.yaml --data-path five --opts "DATA.LABEL_MAP=[[5, 1]]" || fail "5 as 1"
check --cfg binary.yaml --data-path five && fail "5 is no class"
masks all 377 377
for verb in check train; do
  $verb --cfg binary.yaml --data-path all --opts DATA.LABEL_MAP=[] && fail "$verb: all ignored: exit code"
  grep -q "nothing to learn: all pixels of the 4 label maps that were read are ignored" log || fail "$verb: all ignored"
done

# Image classes: a single class, inconsistent splits, and fewer images than a batch.
"$trainc" synth shapes --out shapes --classes 2 --train 8 --val 4 --size 16 2>/dev/null || exit 1
net=(--model resnet20 --img-size 16 --dataset folder)
mkdir -p one/train && cp -r "$(ls -d shapes/train/* | head -1)" one/train && cp -r one/train one/val
for verb in check train; do
  $verb "${net[@]}" --data-path one --batch-size 2 || [ $verb = check ] || fail "$verb: one class"
  grep -q "warning: .*has images of only one class" log || fail "$verb: no message about one class"
done
"$trainc" init one >/dev/null 2>log
[ $? = 2 ] && grep -q "is its only folder of images, and one class is not enough for training" log || fail "init: no message about one class"
"$trainc" init one --as folder >/dev/null 2>log && grep -q "only one class" log || fail "init --as folder: no message about one class"
mkdir other && cp -r shapes/train other && mkdir -p other/val/images && cp "$(ls -d shapes/val/* | head -1)"/* other/val/images
for verb in check train; do
  $verb "${net[@]}" --data-path other --batch-size 2 && fail "$verb: other classes: exit code"
  grep -q "the classes of 'other/train' (2) and of 'other/val' (1) differ" log || fail "$verb: other classes"
  $verb "${net[@]}" --data-path shapes --batch-size 9 && fail "$verb: too few: exit code"
  grep -q "the training set has 8 images, fewer than DATA.BATCH_SIZE 9" log || fail "$verb: too few images"
  $verb "${net[@]}" --data-path shapes --batch-size 2 --num-classes 5 && fail "$verb: NUM_CLASSES: exit code"
  grep -q "'shapes/train' has 2 classes, but MODEL.NUM_CLASSES is 5" log || fail "$verb: NUM_CLASSES"
done

# Without --model, check infers the task from the data or the label map keys; train reports the
# missing model.
check --dataset list --data-path five && grep -q "label maps: the largest class value is 5 (MODEL.NUM_CLASSES is not set)" log || fail "check of label maps without a model"
"$trainc" pack --dataset list --data-path five --label-maps --num-classes 6 --to tar --out tar >log 2>&1 || fail "pack"
check --dataset tar --data-path tar && grep -q "the largest class value is 5" log || fail "check of a tar of label maps without a model"
check --dataset list --data-path five --num-classes 6 --model erfnet && ! grep -q "no effect" log || fail "check --model"
train --dataset tar --data-path tar --class-set camvid11 && fail "train on label maps by a classifier"
expect_line "use a segmentation model (--model erfnet)"

finish
