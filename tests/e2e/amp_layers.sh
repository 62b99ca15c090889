#!/bin/bash
# Mixed precision options: per-layer lists (AMP.FP32, AMP.HALF), master weights, batch norms in 16
# bits, and evaluation in 16 bits.
#
#   tests/e2e/amp_layers.sh [TRAINC]      DEVICE=cpu (default), ref, or cuda
. "$(dirname "$0")/lib.bash"
device=${DEVICE:-cpu}

"$trainc" synth shapes --out shapes --classes 3 --train 16 --val 8 --size 16 2>/dev/null || exit 1
args=(--model resnet20 --data-path shapes --device $device --num-classes 3 --img-size 16 -b 8 --epochs 1 --mixup 0
  --cutmix 0 --deterministic --opts TRAIN.WARMUP_EPOCHS=0 AUG.AUTO_AUGMENT=none AMP.DTYPE=bf16)
train() { # NAME OPTION...
  local name=$1
  shift
  "$trainc" "${args[@]}" OUTPUT="$name" "$@" >log 2>&1 || fail "training: $name"
}
rounded() { # NAME TENSOR: true if all its values are exact in bf16
  "$trainc" export --raw --weights "$1/resnet20/default/last.safetensors" --out w.safetensors >/dev/null 2>&1
  low_halves "$2" | awk '{n++; low += $1 != 0} END {exit !n || low > 0}'
}
# Prints the low 16 bits of a tensor's floats, located by the header's "data_offsets".
low_halves() {
  local header size at
  size=$(od -An -tu8 -N8 w.safetensors | tr -d ' ')
  at=$(head -c $((8 + size)) w.safetensors | tail -c "$size" | jq -r ".\"$1\".data_offsets | \"\(.[0]) \(.[1])\"")
  od -An -v -w4 -tu2 -j$((8 + size + ${at% *})) -N$((${at#* } - ${at% *})) w.safetensors
}

train o2 AMP_OPT_LEVEL=O2
rounded o2 layer1.0.conv1.weight && fail "O2 rounds weights"
rounded o2 layer1.0.bn1.weight && fail "O2 rounds weights of batch norms"
train o2_no_master AMP_OPT_LEVEL=O2 AMP.MASTER_WEIGHTS=False
rounded o2_no_master layer1.0.conv1.weight || fail "O2 without master weights does not round"
rounded o2_no_master layer1.0.bn1.weight && fail "without master weights those of batch norms are rounded"
train o2_norms AMP_OPT_LEVEL=O2 AMP.KEEP_BATCHNORM_FP32=False
rounded o2_norms layer1.0.bn1.weight || fail "KEEP_BATCHNORM_FP32 False does not round"
rounded o2_norms layer1.0.conv1.weight && fail "KEEP_BATCHNORM_FP32 False rounds convolutions"
train o3_master AMP_OPT_LEVEL=O3 AMP.MASTER_WEIGHTS=True
rounded o3_master layer1.0.conv1.weight && fail "O3 with master weights rounds"

# O2 with every layer in AMP.FP32 computes the same as O0.
"$trainc" "${args[@]}" OUTPUT=all AMP_OPT_LEVEL=O2 AMP.FP32="['*']" --result all.json >log 2>&1 || fail "all layers in fp32"
"$trainc" "${args[@]}" OUTPUT=o0 AMP_OPT_LEVEL=O0 --result o0.json >log 2>&1 || fail "O0"
[ "$(json_value all.json val_loss)" = "$(json_value o0.json val_loss)" ] || fail "all layers in fp32: $(json_value all.json val_loss), O0: $(json_value o0.json val_loss)"
"$trainc" summary "${args[@]}" AMP_OPT_LEVEL=O2 AMP.FP32="['fc', 'layer3.*']" >said 2>log || fail "summary"
grep -q "^layer2.0.conv1 .*bf16" said && grep -q "^layer3.0.conv1 .*fp32\|^layer3.0.conv1 .*f32" said ||
  fail "summary shows no types: $(grep "^layer[23].0.conv1" said)"

# A pattern also selects a layer by its tensors: ViT's head contains head.weight.
"$trainc" summary --model vit_tiny_patch16_224 --device cpu -b 1 --opts AMP_OPT_LEVEL=O2 AMP.DTYPE=bf16 \
  AMP.FP32="['head.*']" >said 2>log || fail "summary of a ViT"
grep -q "^head  .*fp32" said && grep -q "^blocks.11.attn.proj  .*bf16" said || fail "head.* is not head: $(grep "^head" said)"

refused() { refuses "$1" "$trainc" "${args[@]}" OUTPUT=no "${@:2}"; } # PATTERN OPTION...
refused "AMP.FP32: no layer of resnet20 .*matches 'head.\*'" AMP_OPT_LEVEL=O1 AMP.FP32="['head.*']"
refused "AMP.HALF: no layer of resnet20 .*matches 'loss'" AMP_OPT_LEVEL=O1 AMP.HALF="['loss']"
"$trainc" "${args[@]}" OUTPUT=warned AMP_OPT_LEVEL=O1 AMP.MASTER_WEIGHTS=False >log 2>&1
grep -q "AMP.MASTER_WEIGHTS has no effect: below O2 all weights are fp32" log || fail "MASTER_WEIGHTS at O1"

# Evaluation in 16 bits gives a loss close to fp32's, but not the same. The mean over 96 images: on
# eight, roundings alone, which depend on the processor, move the loss in bf16 by 2 %.
"$trainc" synth shapes --out many --classes 3 --train 3 --val 96 --size 16 2>/dev/null || fail "synth"
eval=("$trainc" eval --resume o0/resnet20/default/last.safetensors --data-path many --device $device)
"${eval[@]}" --result f32.json --opts AMP_OPT_LEVEL=O0 >log 2>&1 || fail "eval in fp32"
for half in "bf16 0.01" "fp16 0.0025"; do # TYPE BOUND, relative
  "${eval[@]}" --result half.json --opts AMP_OPT_LEVEL=O2 AMP.DTYPE="${half% *}" >log 2>&1 || fail "eval in $half"
  awk -v a="$(json_value f32.json val_loss)" -v b="$(json_value half.json val_loss)" -v bound="${half#* }" \
    'BEGIN {d = (a - b) / a; exit !(a > 0 && a != b && d < bound && d > -bound)}' ||
    fail "eval in $half: $(json_value half.json val_loss), fp32: $(json_value f32.json val_loss)"
done

finish
