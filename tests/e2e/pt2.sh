#!/bin/bash
# Trains a network that PyTorch exported (tests/golden/pt2/residual.pt2): with its own weights, with
# another number of classes, and from a checkpoint without the archive, whose graph it carries. A
# network with an evaluation graph of its own has two (branches.pt2, branches_eval.pt2).
#
#   tests/e2e/pt2.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

golden=$here/tests/golden/pt2
run() { "$trainc" "$@" >log 2>&1 || fail "trainc $*"; }
wrong() { refuses "$1" "$trainc" train --model "${net:-net.pt2}" "${common[@]}" "${@:2}"; }

run synth shapes --out photos --size 8 --classes 5 --train 40 --val 20
run synth shapes --out three --size 8 --classes 3 --train 40 --val 20
cp "$golden/residual.pt2" net.pt2
common=(--data-path photos --epochs 1 --batch-size 8)
checkpoint=output/net/a/last.safetensors

run train --model net.pt2 "${common[@]}" --tag a
expect_line "pretrained 'net.pt2': 12 tensors loaded"
run train --model net.pt2 --data-path three --num-classes 3 --epochs 1 --batch-size 8 --tag b
expect_line "the classifier is reinitialized"

wrong "was exported for images of 8 x 8, not 16 x 16" --img-size 16
wrong "^trainc: error: --in-chans: .* was exported for images of 3 channels, not 1" --in-chans 1
wrong "'photos/train' has 5 classes, but MODEL.NUM_CLASSES is 3: set --num-classes 5" --num-classes 3
run train --model net.pt2 "${common[@]}" --tag l TRAIN.LAYER_DECAY=0.5
net=other.pt2 wrong "'other.pt2': cannot open"
cp "$golden/tied.pt2" .
net=tied.pt2 wrong "its last layer shares its weights" --num-classes 5

rm net.pt2
run eval --resume $checkpoint --data-path photos
expect_line "Acc@1"
run export --weights $checkpoint --out weights.safetensors
expect_line "wrote 12 tensors"
run eval --weights weights.safetensors --data-path photos
run export --weights $checkpoint --onnx net.onnx
[ -s net.onnx ] || fail "there is no net.onnx"
run predict --weights $checkpoint --cam maps photos/val/circle/0001.jpg
run average $checkpoint $checkpoint --out mean.safetensors
run quantize --weights $checkpoint --out int8.safetensors --calib photos/val/circle
for weights in mean.safetensors int8.safetensors; do
  run eval --weights $weights --data-path photos
done
run train --cfg output/net/a/config.yaml --resume $checkpoint --epochs 2 --tag c
expect_line "Train: .2/2"

# Constants are part of a checkpoint, and a buffer of integers one of its weights.
cp "$golden/constants.pt2" .
run train --model constants.pt2 "${common[@]}" --tag d
rm constants.pt2
checkpoint=output/constants/d/last.safetensors
run eval --resume $checkpoint --data-path photos
expect_line "Acc@1"
run export --weights $checkpoint --out weights.safetensors
expect_line "wrote 8 tensors"
head -c 100000 weights.safetensors | grep -aq '"index":{"dtype":"I64","shape":.16,16.' ||
  fail "the buffer 'index' is not among the weights"

# Class names, mean, and deviation of an archive, and of a checkpoint.
cp "$golden/recurrent.pt2" .
run predict --model recurrent.pt2 --weights recurrent.pt2 photos/val/circle/0001.jpg
expect_line "0001.jpg: .*triangle"
run train --model recurrent.pt2 "${common[@]}" --tag g
rm recurrent.pt2
run export --weights output/recurrent/g/last.safetensors --onnx net.onnx
run eval --resume output/recurrent/g/last.safetensors --data-path photos
for line in "MEAN: .0.5, 0.25, 0.125." "STD: .0.5, 0.25, 0.2." "CROP_PCT: 1.0" "INTERPOLATION: bilinear"; do
  grep -q "$line" output/recurrent/g/config.yaml || fail "config.yaml lacks $line"
done

# Auxiliary outputs: their losses are added in training; evaluations have the logits only.
cp "$golden/auxiliary.pt2" "$golden/deep.pt2" .
run train --model auxiliary.pt2 "${common[@]}" --tag h
expect_line "the losses of 2 auxiliary heads are added, times 0.4 (MODEL.AUX_WEIGHT)"
run train --model auxiliary.pt2 "${common[@]}" --tag i MODEL.AUX_WEIGHT=0
! grep -q "auxiliary heads" log || fail "MODEL.AUX_WEIGHT 0 leaves auxiliary heads"
net=recurrent.pt2
cp "$golden/recurrent.pt2" .
wrong "'recurrent.pt2' has no auxiliary outputs: MODEL.AUX_WEIGHT has no effect" MODEL.AUX_WEIGHT=1
net=net.pt2
rm auxiliary.pt2
run eval --resume output/auxiliary/h/last.safetensors --data-path photos
expect_line "Acc@1"
run export --weights output/auxiliary/h/last.safetensors --onnx net.onnx
run export --weights output/auxiliary/h/last.safetensors --out weights.safetensors
grep -aq '"aux1.fc.weight"' weights.safetensors || fail "the network's own layer aux1.fc is not exported"
run summary --model deep.pt2 --num-classes 3 --batch-size 2
expect_line "^head2 .*2x3x3x3 "

# MODEL.HEAD: logits that are the mean of two layers, in training and in evaluations.
cp "$golden"/distilled*.pt2 .
net=distilled.pt2
other=(--data-path three --num-classes 3)
wrong "name the layers to replace with MODEL.HEAD (layers with 5 outputs: fc, head, head_dist)" "${other[@]}"
wrong "^trainc: error: --head: 'distilled.pt2': there is no layer 'haed' (did you mean head?); layers with 5" --head '[haed]'
wrong "its layer 'conv' has 8 outputs, and its classes are 5; layers with 5" --head '[conv]'
wrong "^trainc: error: --head: .* its operands do not broadcast, with 3 outputs" --head '[head]' "${other[@]}"
net=resnet20 wrong "^trainc: error: --head: MODEL.HEAD does not apply to models of MODEL.TYPE resnet" --head '[fc]'
net=net.pt2
heads=(--model distilled.pt2 --model-eval distilled_eval.pt2 --head '[head, head_dist]' --num-classes 3)
run train "${heads[@]}" "${common[@]}" --data-path three --epochs 2 --tag m TRAIN.FREEZE_EPOCHS=1
expect_line "4 tensors loaded; the classifier is reinitialized"
expect_line "training 3 of 7 parameter tensors (the head)"
run summary "${heads[@]}" --batch-size 2
expect_line "^head_dist .*2x3 "
rm distilled*.pt2
run eval --resume output/distilled/m/last.safetensors --data-path three
expect_line "Acc@1"
run export --weights output/distilled/m/last.safetensors --out weights.safetensors

# A summary of the model in a checkpoint, or in exported weights, with its classes.
run summary --resume output/distilled/m/last.safetensors --batch-size 2
expect_line "^head_dist .*2x3 "
run summary --weights weights.safetensors --batch-size 4
expect_line "^head_dist .*4x3 "
run train --model resnet20 "${common[@]}" --tag r
run summary --resume output/resnet20/r/last.safetensors
expect_line "^resnet20: batch 8, 32x32 pixels"
expect_line "^fc .*8x5 "
refuses "there is no file 'no.safetensors'" "$trainc" summary --weights no.safetensors
refuses "there is no file 'no.safetensors'" "$trainc" summary --resume no.safetensors
run export --weights weights.safetensors --onnx net.onnx

# Activation checkpointing recomputes the blocks: less memory, and in fp32 the same weights.
activations() {
  run summary --model stages.pt2 --batch-size 8 TRAIN.USE_CHECKPOINT="$1"
  sed -n 's/.*of which \([0-9.]* [KMG]iB\) are read by the backward pass/\1/p' log
}
cp "$golden/stages.pt2" .
for recompute in False True; do
  run train --model stages.pt2 "${common[@]}" --tag $recompute --amp-opt-level O0 TRAIN.USE_CHECKPOINT=$recompute
  run export --weights output/stages/$recompute/last.safetensors --out $recompute.safetensors
done
cmp -s <(tail -c 6000 True.safetensors) <(tail -c 6000 False.safetensors) || fail "activation checkpointing changes the weights"
[ "$(activations True)" != "$(activations False)" ] || fail "activation checkpointing saves no memory"
run train --model recurrent.pt2 "${common[@]}" --tag j TRAIN.USE_CHECKPOINT=True
expect_line "TRAIN.USE_CHECKPOINT has no effect: recurrent.pt2 has no blocks to recompute"
run train --model stages.pt2 "${common[@]}" --tag k --freeze '[stem.*, blocks.0.*]'
net=stages.pt2 wrong "no parameter of stages.pt2 matches 'block.*'" --freeze '[block.*]'

# A network with an evaluation graph of its own; only that graph has a max pool.
cp "$golden/branches.pt2" net.pt2
cp "$golden/branches_eval.pt2" eval.pt2
cp "$golden/residual.pt2" other.pt2
checkpoint=output/net/e/last.safetensors
run train --model net.pt2 --model-eval eval.pt2 "${common[@]}" --tag e
run summary --model net.pt2 --model-eval eval.pt2 --batch-size 8
run bench --model net.pt2 --model-eval eval.pt2 --batch-size 8 --seconds 0.1
run export --weights $checkpoint --onnx net.onnx
grep -aq MaxPool net.onnx || fail "net.onnx is not the evaluation graph"
wrong "^trainc: error: --model-eval: 'other.pt2' has no parameter 'gain', which 'net.pt2' has" \
  --model-eval other.pt2
wrong "^trainc: error: --model-eval: 'no.pt2': cannot open" --model-eval no.pt2
wrong "^trainc: error: --model-eval: 'net.pt2' is MODEL.NAME itself" --model-eval net.pt2
wrong "'eval.pt2': its last layer is not that of the training graph" --model-eval eval.pt2 \
  --data-path three --num-classes 3
net=resnet20 wrong "^trainc: error: --model-eval: MODEL.EVAL 'eval.pt2' is the .* resnet20 has its own" \
  --model-eval eval.pt2
net=eval.pt2 wrong "a batch norm that is not trained: export the model in train mode"

rm net.pt2 eval.pt2
run eval --resume $checkpoint --data-path photos
expect_line "Acc@1"
run export --weights $checkpoint --out weights.safetensors
run export --weights weights.safetensors --onnx net.onnx
grep -aq MaxPool net.onnx || fail "net.onnx of weights is not the evaluation graph"
run predict --weights $checkpoint photos/val/circle/0001.jpg
run average $checkpoint $checkpoint --out mean.safetensors
run eval --weights mean.safetensors --data-path photos
run train --cfg output/net/e/config.yaml --resume $checkpoint --epochs 2 --tag f
expect_line "Train: .2/2"

finish
