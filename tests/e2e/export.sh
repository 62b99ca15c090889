#!/bin/bash
# trainc export writes weights and ONNX models without anything else, from checkpoints of trainc and
# PyTorch.
#
#   tests/e2e/export.sh [TRAINC]
. "$(dirname "$0")/eval.bash"

"$trainc" predict "${best[@]}" shapes/val >predicted 2>log || fail "predict"

# Exported weights have timm's names and nothing else.
"$trainc" export --weights $run/last.safetensors --out alone.safetensors >log 2>&1 || fail "export"
"$trainc" predict --cfg $run/config.yaml --device cpu --weights alone.safetensors shapes/val >again 2>log
cmp -s predicted again || fail "export: another model"
grep -aq "optimizer\.\|ema\." alone.safetensors && fail "export: more than weights"
"$trainc" export --weights $run/last.safetensors --out raw.safetensors --raw >log 2>&1 || fail "export --raw"
cmp -s alone.safetensors raw.safetensors && fail "export --raw is the EMA"
for part in state_dict_ema state_dict; do
  raw=$([ $part = state_dict ] && echo --raw)
  "$trainc" export --weights "$here/tests/golden/io/timm.pth.tar" --out torch_$part.safetensors $raw >log 2>&1 ||
    fail "export of PyTorch's checkpoint"
  grep -q "1 tensors of $part to " log || fail "export of PyTorch's checkpoint: not its $part"
  grep -aq '"w":' torch_$part.safetensors || fail "export of PyTorch's checkpoint: names"
done
cmp -s torch_state_dict.safetensors torch_state_dict_ema.safetensors && fail "export of PyTorch's checkpoint: the same"
"$trainc" export --weights "$here/tests/golden/io/compiled.pth" --out compiled.safetensors >log 2>&1 ||
  fail "export of a compiled, wrapped module"
grep -aq '"w":' compiled.safetensors || fail "export of a compiled, wrapped module: names"
"$trainc" export --weights alone.safetensors --out twice.safetensors >log 2>&1 && fail "exported weights are exported again"
for from in $run/last.safetensors alone.safetensors alone.safetensors; do # the third replaces the second
  "$trainc" export --weights $from --onnx $(basename $from .safetensors).onnx >log 2>&1 || fail "export --onnx of $from"
done
cmp -s last.onnx alone.onnx || fail "export --onnx: a checkpoint and its exported weights give different models"
grep -aq '\["' alone.onnx || fail "export --onnx: no names of classes"
echo "not ours" >foreign.onnx
"$trainc" export --weights alone.safetensors --onnx foreign.onnx >log 2>&1 && fail "export --onnx over a foreign file"
expect_line "not ours" foreign.onnx
before=$(cksum <$run/last.safetensors)
"$trainc" export --weights $run/last.safetensors --out $run/last.safetensors >log 2>&1 &&
  fail "export over its checkpoint"
[ "$before" = "$(cksum <$run/last.safetensors)" ] || fail "export over its checkpoint: changed"

finish
