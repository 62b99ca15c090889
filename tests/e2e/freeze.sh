#!/bin/bash
# TRAIN.FREEZE_EPOCHS: only the head is trained at first, then everything. The head phase equals a
# run with TRAIN.FREEZE, the rates are those of each phase, a killed run resumes bit for bit in
# either phase, and several processes, accumulation, shards, the reference device, and fp16 agree.
#
#   tests/e2e/freeze.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

common=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1
  --optim adamw -b 8)
first=(TRAIN.BASE_LR 0.002 TRAIN.EPOCHS 3 TRAIN.WARMUP_EPOCHS 1 TRAIN.WARMUP_LR 0 TRAIN.SCALE_LR False PRINT_FREQ 1)
run() { # TAG ARGUMENT...
  "${common[@]}" --output out --tag "$1" --opts "${first[@]}" "${@:2}" >log 2>&1 || { fail "run $1"; finish; }
}
freeze=(TRAIN.FREEZE_EPOCHS 1 TRAIN.FREEZE_LR 0.01)
of=out/resnet20

# Values of a tensor of a checkpoint, as text.
values() { # FILE NAME
  python3 - "$@" <<'END'
import json, struct, sys
data = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', data[:8])[0]
t = json.loads(data[8:8 + n])[sys.argv[2]]
a, b = t['data_offsets']
print(data[8 + n + a:8 + n + b].hex())
END
}
same() { [ "$(values "$1" "$3")" = "$(values "$2" "$3")" ]; } # FILE FILE NAME
rates() { jq -r 'select(.kind == "train").lr' "$of/$1/metrics.jsonl"; }

run two "${freeze[@]}" TRAIN.KEEP_CHECKPOINTS 9
expect_line "training 2 of 59 parameter tensors (the head) until the end of epoch 1, learning rate 0.01"
expect_line "training all 59 parameter tensors from epoch 2 on, learning rate 0.002"
expect_line "TRAIN.FREEZE_EPOCHS without MODEL.PRETRAINED: the frozen weights are random"
body=layer1.0.conv1.weight norm=layer2.0.bn1.running_mean

# The head phase is TRAIN.FREEZE of everything else: the same weights, bit for bit.
run head TRAIN.EPOCHS 1 TRAIN.BASE_LR 0.01 TRAIN.WARMUP_EPOCHS 0 TRAIN.LR_SCHEDULER.NAME constant \
  TRAIN.FREEZE "['conv1.*', 'bn1.*', 'layer*']"
for name in fc.weight fc.bias $body $norm ema.$body; do
  same $of/two/ckpt_epoch_0.safetensors $of/head/last.safetensors $name || fail "head phase: $name differs from TRAIN.FREEZE"
done
# Moments of what is frozen are zero, and its EMA is the weight.
values $of/two/ckpt_epoch_0.safetensors optimizer.exp_avg.$body | grep -q '^0*$' || fail "a frozen moment is not zero"
values $of/two/ckpt_epoch_0.safetensors optimizer.exp_avg.fc.weight | grep -q '^0*$' && fail "the head has no moment"
[ "$(values $of/two/ckpt_epoch_0.safetensors ema.$body)" = "$(values $of/two/ckpt_epoch_0.safetensors $body)" ] ||
  fail "the EMA of a frozen weight differs from it"
same $of/two/ckpt_epoch_0.safetensors $of/two/last.safetensors $body && fail "$body is still frozen after epoch 1"
same $of/two/ckpt_epoch_0.safetensors $of/two/last.safetensors $norm && fail "$norm is still frozen after epoch 1"

# Rates: 8 updates at FREEZE_LR, then the warm-up from 0 and the cosine of the other two epochs.
rates two | awk 'NR <= 8 {bad += $1 != 0.01} NR == 9 {bad += $1 != 0} NR == 13 {bad += ($1 - 0.001) ^ 2 > 1e-12}
  NR == 17 {bad += ($1 - 0.002) ^ 2 > 1e-12} END {exit bad || NR != 24}' || fail "the rates: $(rates two | tr '\n' ' ')"
# Adam's first step of the others has its own bias correction: weights move by the rate, not by
# half of it as with the count of the head.
run first "${freeze[@]}" TRAIN.WARMUP_EPOCHS 0 TRAIN.LR_SCHEDULER.NAME constant TRAIN.BASE_LR 0.001 TRAIN.WEIGHT_DECAY 0 TRAIN.MAX_STEPS 9
run before "${freeze[@]}" TRAIN.WARMUP_EPOCHS 0 TRAIN.LR_SCHEDULER.NAME constant TRAIN.BASE_LR 0.001 TRAIN.WEIGHT_DECAY 0 TRAIN.MAX_STEPS 8
moved=$(python3 - $of/first/last.safetensors $of/before/last.safetensors $body <<'END'
import json, struct, sys
def load(path):
    data = open(path, 'rb').read()
    n = struct.unpack('<Q', data[:8])[0]
    a, b = json.loads(data[8:8 + n])[sys.argv[3]]['data_offsets']
    return struct.unpack('<%df' % ((b - a) // 4), data[8 + n + a:8 + n + b])
print(max(abs(x - y) for x, y in zip(load(sys.argv[1]), load(sys.argv[2]))))
END
)
awk -v x="$moved" 'BEGIN {exit !(x > 0.0009 && x < 0.00101)}' || fail "the first step of the others moves by $moved, not 0.001"

# Killed in either phase, with accumulation: resumes bit for bit.
"$trainc" synth shapes --out more --classes 4 --train 200 --val 8 --size 16 2>/dev/null
long=("${common[@]}" --data-path more --no-drop-last --opts "${first[@]}" "${freeze[@]}" TRAIN.ACCUMULATION_STEPS 3
  TRAIN.SAVE_STEPS 2 TRAIN.KEEP_CHECKPOINTS 2 TRAIN.EPOCHS 2)
"${long[@]}" OUTPUT whole >log 2>&1 || fail "undisturbed"
for step in 4 12; do
  rm -rf again
  "${long[@]}" OUTPUT again >log 2>&1 &
  pid=$!
  reached again/resnet20/default $step $pid || fail "SIGKILL at $step: over too early"
  until [ -e again/resnet20/default/last.safetensors ] || ! kill -0 $pid 2>/dev/null; do sleep 0.03; done
  kill -9 $pid
  wait $pid 2>/dev/null
  "${long[@]}" OUTPUT again >log 2>&1 || fail "SIGKILL at $step: does not resume"
  grep -q "resumed from" log || fail "SIGKILL at $step: did not resume"
  [ "$(tensor_bytes again/resnet20/default/last.safetensors | md5sum)" = \
    "$(tensor_bytes whole/resnet20/default/last.safetensors | md5sum)" ] ||
    fail "SIGKILL at $step: other weights than undisturbed"
done
exits 2 "trained its head alone first" "${long[@]}" OUTPUT third MODEL.RESUME again/resnet20/default/last.safetensors TRAIN.FREEZE_EPOCHS 0

# Two processes, with and without shards, equal one with twice the batch.
tiny >tiny.yaml
two=("$trainc" --cfg tiny.yaml --optim adamw --opts TRAIN.EPOCHS 2 TRAIN.BASE_LR 0.001 TRAIN.FREEZE_EPOCHS 1 TRAIN.FREEZE_LR 0.01 TRAIN.SCALE_LR False
  TRAIN.EMA.ENABLE True AUG.MIXUP 0 AUG.CUTMIX 0)
"${two[@]}" OUTPUT one DATA.BATCH_SIZE 16 >log 2>&1 || fail "one process"
for shard in False True; do
  ranks 2 "${two[@]}" OUTPUT ranks$shard DATA.BATCH_SIZE 8 DIST.SHARD_OPTIMIZER $shard >log 2>&1 || fail "two processes, shards $shard"
done
d=$(apart "$(file one)" "$(file ranksFalse)")
below "$d" 2e-3 || fail "two processes differ from one by $d"
d=$(apart "$(file ranksTrue)" "$(file ranksFalse)")
below "$d" 1e-6 || fail "shards differ by $d"

# The reference device agrees, and so does fp16 with its own loss scale run.
run reference "${freeze[@]}" DEVICE ref TRAIN.EPOCHS 2 TRAIN.MAX_STEPS 10 AMP_OPT_LEVEL O0
run cpu "${freeze[@]}" TRAIN.EPOCHS 2 TRAIN.MAX_STEPS 10 AMP_OPT_LEVEL O0
d=$(apart $of/reference/last.safetensors $of/cpu/last.safetensors)
below "$d" 5e-3 || fail "the reference differs from the CPU by $d"
run half "${freeze[@]}" AMP.DTYPE fp16 TRAIN.EPOCHS 2 TRAIN.USE_CHECKPOINT True AUG.MIXUP 0.8 AUG.MIXUP_OFF_EPOCH 1
run named "${freeze[@]}" TRAIN.FREEZE_HEAD "['fc.*', 'layer3.*']" TRAIN.EPOCHS 2
expect_line "training 2[0-9] of 59 parameter tensors"

# Mistakes are refused before the start, and keys without effect are named.
bad() { refuses "$1" "${common[@]}" --output bad --opts "${first[@]}" "${@:2}"; } # PATTERN KEY VALUE...
bad "TRAIN.FREEZE_EPOCHS (3) is all of TRAIN.EPOCHS (3)" TRAIN.FREEZE_EPOCHS 3
bad "TRAIN.FREEZE_EPOCHS (4) is more than TRAIN.EPOCHS (3)" TRAIN.FREEZE_EPOCHS 4
bad "no trained parameter of resnet20 matches 'fd.\*'" TRAIN.FREEZE_EPOCHS 1 TRAIN.FREEZE_HEAD "['fd.*']"
bad "matches 'fc' (a layer: add '.\*')" TRAIN.FREEZE_EPOCHS 1 TRAIN.FREEZE_HEAD "['fc']"
bad "freezes nothing: all trained parameters belong" TRAIN.FREEZE_EPOCHS 1 TRAIN.FREEZE_HEAD "['*']"
bad "has no classifier that is trained" TRAIN.FREEZE_EPOCHS 1 TRAIN.FREEZE "['fc.*']"
bad "within the warm-up of 1 epochs, which follows TRAIN.FREEZE_EPOCHS" TRAIN.FREEZE_EPOCHS 1 TRAIN.WARMUP_EPOCHS 1 \
  TRAIN.LR_SCHEDULER.NAME multistep TRAIN.LR_SCHEDULER.MULTISTEPS "[1]"
"${common[@]}" --output none --opts "${first[@]}" TRAIN.FREEZE_LR 0.1 TRAIN.MAX_STEPS 1 >log 2>&1
expect_line "TRAIN.FREEZE_LR has no effect: TRAIN.FREEZE_EPOCHS is 0"
"$trainc" config --data-path shapes --pretrained "$here/tests/golden/io/compiled.pth" --opts TRAIN.FREEZE_EPOCHS 2 >log 2>&1
expect_line "FREEZE_LR: .*the head starts from scratch"
finish
