#!/bin/bash
# LOSSES and MODEL.TEACHER for images and pixels: several weighted losses, auxiliary classifiers,
# distillation; resuming changes nothing; checkpoints contain the auxiliary classifiers but not
# the teacher; errors are one line.
#
#   tests/e2e/losses.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

smoke=$here/configs/smoke
train() { # TAG LOSSES [ARGUMENT...]
  "$trainc" --cfg "${cfg:-$smoke/synthetic.yaml}" --output out --tag "$1" --opts LOSSES "$2" "${@:3}" >log 2>&1
}
learned() { cut -d, -f1-10 "out/$net/$1/summary.csv"; }
# Prints all tensors of a checkpoint; headers differ because they contain TAG.
numbers() { tensor_bytes "out/$net/$1/last.safetensors"; }
same() { cmp -s <(numbers "$1") <(numbers "$2") || fail "$2 has not the weights and moments of $1"; }
bytes() { stat -c %s "out/$net/$1/last.safetensors"; }
net=resnet20

# One loss of weight 1 equals plain training; scaling the weight is the same as scaling SGD's
# learning rate.
train plain "[]" || fail "without LOSSES"
train one "[{type: cross_entropy}]" || fail "one loss"
[ "$(learned plain)" = "$(learned one)" ] || fail "one loss of LOSSES is another"
train halves "[{type: cross_entropy, weight: 0.5}, {type: cross_entropy, weight: 0.5}]" || fail "halves"
paste -d, <(learned plain | tail -1) <(learned halves | tail -1) | awk -F, '{d = $2 - $12; exit !(d * d < 1e-6)}' ||
  fail "two halves are no whole: $(learned plain | tail -1) and $(learned halves | tail -1)"

# Auxiliary classifiers are trained and saved; a resumed run is bit-exact.
several="[{type: cross_entropy}, {type: focal, weight: 0.5}, {type: bce, weight: 0.4, stage: 2}, {type: cross_entropy, weight: 0.1, stage: 0}]"
train aux "$several" || fail "auxiliary classifiers"
grep -qa '"aux2.fc.weight"' out/$net/aux/last.safetensors && grep -qa '"aux0.fc.bias"' out/$net/aux/last.safetensors ||
  fail "no auxiliary classifiers in the checkpoint"
leave="[{at: epoch, run: 'test \$TRAINC_EPOCH = 2 || kill -TERM \$PPID', shell: True}]"
train again "$several" HOOKS "$leave"
[ $? = 143 ] || fail "the first part of a run that is resumed"
train again "$several" HOOKS "[]" || fail "a resumed run"
expect_line "resumed from" log
[ "$(learned aux)" = "$(learned again)" ] || { learned aux; learned again; fail "a resumed run is another"; }
same aux again
"$trainc" eval --resume out/$net/aux/last.safetensors >log 2>&1 || fail "eval"
# Exports are for inference and have no auxiliary classifiers.
for more in "" --aux; do
  "$trainc" export --weights out/$net/aux/last.safetensors --out w$more.safetensors $more >log 2>&1 || fail "export $more"
done
grep -qa '"aux' w.safetensors && fail "an export has auxiliary classifiers"
grep -qa '"aux2.fc.weight"' w--aux.safetensors || fail "export --aux has none"
"$trainc" export --weights out/$net/aux/last.safetensors --out w2.safetensors >log 2>&1
expect_line "left out 4 tensors of auxiliary classifiers, which inference does not need (--aux keeps them)" log
"$trainc" export --weights out/$net/aux/last.safetensors --onnx w.onnx >log 2>&1 || fail "ONNX"
grep -qa "aux2" w.onnx && fail "a model for ONNX has auxiliary classifiers"
# A model without auxiliary classifiers loads the checkpoint.
train from "[]" MODEL.PRETRAINED out/$net/aux/last.safetensors || fail "weights without auxiliary classifiers"
train to "$several" MODEL.PRETRAINED out/$net/plain/last.safetensors || fail "weights with new auxiliary classifiers"
expect_line "aux2.fc.weight: missing in the file, reinitialized" log

# A teacher is part of the program and not of the checkpoint.
soft="[{type: cross_entropy, weight: 0.5}, {type: distill, weight: 0.5, temperature: 3}]"
train soft "$soft" MODEL.TEACHER out/$net/plain/last.safetensors || fail "a teacher"
expect_line "teacher 'out/$net/plain/last.safetensors': resnet20, .* tensors loaded from the EMA weights" log
grep -qa '"teacher\.' out/$net/soft/last.safetensors && fail "the teacher is in the checkpoint"
[ $(($(bytes soft) - $(bytes plain))) -lt 4096 ] || fail "a checkpoint is larger: $(bytes soft), $(bytes plain)"
train hard "[{type: cross_entropy, weight: 0.5}, {type: distill, weight: 0.5, hard: True}]" MODEL.TEACHER \
  out/$net/plain/last.safetensors || fail "a hard teacher"
train soft-again "$soft" MODEL.TEACHER out/$net/plain/last.safetensors HOOKS "$leave"
[ $? = 143 ] || fail "the first part of a run with a teacher"
train soft-again "$soft" MODEL.TEACHER out/$net/plain/last.safetensors HOOKS "[]" || fail "a resumed run with a teacher"
expect_line "resumed from" log
same soft soft-again
[ "$(learned soft)" = "$(learned hard)" ] && fail "soft and hard are the same"
# A model that is its own teacher has a gradient of 0, except for rounding.
train same "[{type: distill}]" MODEL.TEACHER out/$net/plain/last.safetensors MODEL.PRETRAINED out/$net/plain/last.safetensors \
  TRAIN.BASE_LR 0 TRAIN.WARMUP_LR 0 TRAIN.MIN_LR 0 TRAIN.FREEZE "['bn*', 'layer*.bn*']" AUG.MIXUP 0 AMP_ENABLE False TRAIN.EPOCHS 1 ||
  fail "its own teacher"
learned same | tail -1 | awk -F, '{exit !($2 < 1e-4)}' || fail "its own teacher: $(learned same | tail -1)"
train other "$soft" MODEL.TEACHER out/$net/plain/last.safetensors MODEL.TEACHER_MODEL resnet32
[ $? = 1 ] || fail "a teacher that does not fit"
expect_line "MODEL.TEACHER: 'out/$net/plain/last.safetensors' does not match resnet32 with 4 classes: .* tensors: .* is missing in the file" log

# Segmentation.
cfg=$smoke/segment.yaml net=$(basename "$(ls -d out/*/ | head -1)")
train pixels "[{type: ohem}, {type: dice, weight: 0.5}, {type: cross_entropy, weight: 0.4, stage: 2}]" || fail "pixels"
expect_line "mIoU" log
cfg=

# Errors: one line, and exit code 2.
weights=out/resnet20/plain/last.safetensors
refused() { # LOSSES MESSAGE [ARGUMENT...]
  train bad "$1" "${@:3}"; rc=$?
  [ $rc = 2 ] && [ "$(wc -l <log)" = 1 ] && expect_line "$2" log || fail "'$1': exit code $rc"
}
refused "[{weight: 1}]" "LOSSES: item 0 has no type"
refused "[{type: focall}]" "LOSSES: the type of its item 0 must be one of .* (did you mean focal?)"
refused "[{type: dice}]" "LOSSES dice is for segmentation, but resnet20 classifies whole images"
refused "[{type: cross_entropy, gamma: 2}]" "item 0 has a field gamma, which cross_entropy does not read"
refused "[{type: focal, gama: 2}]" "not of 'gama' (did you mean gamma?)"
refused "[{type: focal, gamma: -1}]" "item 0 has an invalid gamma: it must be in \\[0, 100\\], not -1.0"
refused "[{type: cross_entropy, stage: 1}]" "no loss with a weight above 0 applies to the logits"
refused "[{type: cross_entropy}, {type: focal, stage: 9}]" "item 1 has stage 9, but the last stage of resnet20 is 3"
refused "[{type: distill}]" "a loss has type distill, but MODEL.TEACHER is empty"
refused "[{type: distill}]" "MODEL.TEACHER: file 'x' not found" MODEL.TEACHER x
refused "[{type: distill}]" "MODEL.TEACHER_MODEL: there is no model 'x'" MODEL.TEACHER "$weights" MODEL.TEACHER_MODEL x
refused "[{type: distill}]" "MODEL.TEACHER_MODEL: erfnet labels pixels, and resnet20 whole images" \
  MODEL.TEACHER "$weights" MODEL.TEACHER_MODEL erfnet
refused "cross_entropy" "LOSSES must be a list of dict"
train note "[{type: cross_entropy}]" MODEL.TEACHER x TRAIN.LOSS.NAME bce TRAIN.EPOCHS 0
expect_line "MODEL.TEACHER has no effect: no loss is distill" log
expect_line "TRAIN.LOSS.NAME has no effect: LOSSES says what is learned from" log

finish
