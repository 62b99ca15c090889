#!/bin/bash
# If its data is missing, a configuration names the command that generates a stand-in. The printed
# command works, and the configuration then trains with the stand-in's number of classes.
#
#   tests/e2e/stand_in.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

classes() { sed -n 's/^ *NUM_CLASSES: //p' "$run/config.yaml"; }

sed 's/^ *NUM_CLASSES: .*//' "$here/configs/smoke/shapes.yaml" >shapes.yaml
args=(--cfg shapes.yaml --data-path data/images --output out --epochs 1)
run=out/resnet20/default

# CONFIGURATION...: prints one line with the folder, the flag, and the command.
make_it() {
  "$trainc" "$@" >log 2>&1 && fail "$*: trains without data"
  [ "$(wc -l <log)" = 1 ] && grep -q "folder '.*--data-path DIR" log ||
    fail "$*: not the one line"
  command=$(sed -n 's/.*stand-in data set: trainc //p' log)
  [ -n "$command" ] || fail "$*: no command"
}

make_it "${args[@]}"
"$trainc" $command --classes 3 --train 24 --val 6 --size 16 >log 2>&1 || fail "$command"
"$trainc" "${args[@]}" >log 2>&1 || fail "the stand-in does not train"
grep -q "^MODEL.NUM_CLASSES is 3, the classes of 'data/images/train'" log ||
  fail "the class count is not logged: $(head -3 log)"
[ "$(classes)" = 3 ] || fail "config.yaml has $(classes) classes"
"$trainc" "${args[@]}" >log 2>&1 && grep -q "resumed from" log || fail "it does not resume"
"$trainc" eval "${args[@]}" --resume $run/last.safetensors >log 2>&1 || fail "eval"
"$trainc" predict --cfg shapes.yaml --weights $run/last.safetensors \
  data/images/val/circle/0000.jpg >out.txt 2>log || fail "predict"
grep -q "circle 0\.[0-9]*" out.txt && [ "$(tr ',' '\n' <out.txt | wc -l)" = 3 ] ||
  fail "predict says: $(cat out.txt)"

# A class count set by the user is not changed.
for set in "--opts MODEL.NUM_CLASSES 1000" "--num-classes 1000"; do
  "$trainc" "${args[@]}" --output other $set >log 2>&1 && fail "$set: trains"
  grep -q "'data/images/train' has 3 classes, but MODEL.NUM_CLASSES is 1000" log ||
    fail "$set"
done

# The README's command: the same message without data; it trains with the stand-in.
ln -s "$here/configs" configs
make_it --cfg configs/swin.yaml --batch_size 128
grep -q "^trainc: error: configs/swin.yaml:[0-9:]* DATA.DATA_PATH: folder 'data/imagenet'" log ||
  fail "configs/swin.yaml"
"$trainc" $command --train 12 --val 4 --classes 4 >log 2>&1 || fail "$command"
"$trainc" --cfg configs/swin.yaml --batch_size 4 --epochs 1 --warmup-epochs 0 --max-steps 1 --output swin \
  --opts DATA.IMG_SIZE 56 MODEL.SWIN.EMBED_DIM 12 MODEL.SWIN.NUM_HEADS [1,2,2,4] MODEL.SWIN.DEPTHS [1,1,1,1] \
  >log 2>&1 || fail "configs/swin.yaml does not train on its stand-in"
expect_line "MODEL.NUM_CLASSES is 4"

# Segmentation of streets has a stand-in, too.
make_it --cfg "$here/configs/cityscapes/erfnet20.yaml" --data-path data/streets
"$trainc" $command --train 4 --val 2 >log 2>&1 || fail "$command"
[ -d data/streets/leftImg8bit/train ] || fail "no streets"

finish
