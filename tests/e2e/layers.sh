#!/bin/bash
# Trains the networks of configs/layers, and uses a checkpoint of one without its YAML file.
#
#   tests/e2e/layers.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

configs=$here/configs/layers
run() { "$trainc" "$@" >log 2>&1 || fail "trainc $*"; }

run synth shapes --out photos --size 32 --classes 5 --train 40 --val 20
run synth scenes --out streets --size 64 --train 8 --val 4
common=(--epochs 1 --batch-size 8)
pixels=(--data-path streets --dataset cityscapes --num-classes 19 DATA.CLASS_SET=cityscapes19)

for net in lenet sequential custom_resnet; do
  run train --cfg "$configs/$net.yaml" --data-path photos "${common[@]}" --result "$net.json"
  expect_line "Acc@1"
  [ -s "output/$net/default/last.safetensors" ] || fail "$net left no checkpoint"
done
run train --cfg "$configs/small_unet.yaml" "${pixels[@]}" "${common[@]}"
expect_line "mIoU"
run export --weights output/small_unet/default/last.safetensors --onnx unet.onnx
run profile --cfg "$configs/small_unet.yaml" "${pixels[@]}" --batch-size 2
run profile --cfg "$configs/lenet.yaml" --data-path photos --batch-size 8
expect_line "conv1"
run summary --cfg "$configs/custom_resnet.yaml" --num-classes 5
expect_line "layer1.1.se.fc1"

# A copy, which goes.
cp "$configs/lenet.yaml" mine.yaml
sed -i '/NAME: lenet/d' mine.yaml
run train --cfg mine.yaml --data-path photos "${common[@]}"
rm mine.yaml
checkpoint=output/mine/default/last.safetensors
run eval --resume $checkpoint --data-path photos
expect_line "Acc@1"
run predict --weights $checkpoint --cam maps photos/val/circle/0001.jpg
run export --weights $checkpoint --onnx net.onnx
[ -s net.onnx ] || fail "there is no net.onnx"
run export --weights $checkpoint --out weights.safetensors
expect_line "wrote 10 tensors"
run train --cfg output/mine/default/config.yaml --resume $checkpoint --epochs 2 --tag b
expect_line "Train: .2/2"
run train --cfg "$configs/lenet.yaml" --data-path photos --pretrained weights.safetensors \
  "${common[@]}" --tag c
expect_line "10 tensors loaded"
run eval --weights $checkpoint output/lenet/c/last.safetensors --data-path photos

# config.yaml reads back as it is.
run config --cfg "$configs/custom_resnet.yaml" --num-classes 5
plain() { grep -v '^ *#' log | sed 's/  # .*//'; }
plain >once.yaml
run config --cfg once.yaml
diff <(plain) once.yaml || fail "a printed configuration changes"

# What only the command line can get wrong.
net=$configs/lenet.yaml
refuses "error: $net:10: layer 'conv2': nothing is left of its input" "$trainc" summary --cfg "$net" --img-size 4
refuses "--model: MODEL.NAME resnet18 is a model, and MODEL.LAYERS describes another network" \
  "$trainc" summary --cfg "$net" --model resnet18
refuses "a network in YAML is a configuration: --cfg net.yaml" "$trainc" summary --model net.yaml
refuses "MODEL.TYPE layers needs MODEL.LAYERS" "$trainc" summary --model-type layers
refuses "MODEL.LAYERS must be a list of layers, not 'relu'" "$trainc" summary MODEL.LAYERS=relu
refuses "the output of the network is \[N, 2\], and there are 3 classes" "$trainc" summary \
  --num-classes 3 "MODEL.LAYERS=[flatten, {op: linear, out_features: 2}]"
run summary "MODEL.LAYERS=[flatten, {op: linear, out_features: 2}]" --img-size 8

finish
