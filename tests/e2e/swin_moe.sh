#!/bin/bash
# Swin-MoE from training to predictions: experts by name and by processes, the balance loss, frozen
# biases, resume, EMA, mixed precision, recomputation, evaluation, export, messages.
#
#   tests/e2e/swin_moe.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
name=swin_moe_small_patch4_window12_192_8expert_32gpu_22k
moe=MODEL.SWIN_MOE
opts=(DATA.DATASET synthetic DATA.TRAIN_NUM_SAMPLES 16 DATA.VAL_NUM_SAMPLES 8 DATA.BATCH_SIZE 4 DATA.IMG_SIZE 64
  MODEL.NUM_CLASSES 5 $moe.EMBED_DIM 16 $moe.DEPTHS '[1,2]' $moe.NUM_HEADS '[2,4]' $moe.WINDOW_SIZE 8 TRAIN.WARMUP_EPOCHS 0
  $moe.MOE_BLOCKS '[[-1],[0,1]]' $moe.PRETRAINED_WINDOW_SIZES '[]' DATA.NUM_WORKERS 0 LOG.TENSORBOARD False)

run() { # options of --opts; the log is in the file log
  "$trainc" --model-type swin_moe --device cpu --threads 1 --epochs 2 --output out --result result.json --opts "${opts[@]}" "$@" >log 2>&1
}

shape() { # FILE TENSOR: its dims
  "$trainc" weights "$1" 2>/dev/null | awk -v t="$2" '$1 == t {print $2}'
}

loss() { json_value result.json train_loss; }

run MODEL.NAME $name || { cat log; fail "a run by name"; }
named=$(loss)
run MODEL.NAME $name TAG balanced $moe.IS_GSHARD_LOSS True $moe.AUX_LOSS_WEIGHT 0.5 || fail "GShard's balance loss"
awk -v a="$named" -v b="$(loss)" 'BEGIN {exit !(b > a + 0.9)}' || # at least 0.5 for each of two blocks
  fail "the balance loss is not in the loss: $named and $(loss)"
run MODEL.NAME $name TAG half16 AMP_OPT_LEVEL O1 AMP.DTYPE bf16 TRAIN.USE_CHECKPOINT True TRAIN.EMA.ENABLE True || fail "bf16, recomputation, EMA"
[[ $(loss) =~ ^[0-9.]+$ ]] || fail "bf16: a loss that is no number"

# Resuming continues bit for bit.
run MODEL.NAME $name TAG whole || { cat log; fail "a whole run"; }
cp result.json whole.json
run MODEL.NAME $name TAG half TRAIN.MAX_STEPS 4 || fail "half a run"
run MODEL.NAME $name TAG half || fail "the other half"
for tag in whole half; do
  "$trainc" export --weights out/$name/$tag/last.safetensors --out $tag.safetensors --raw >log 2>&1 || fail "export"
done
numbers() { tail -c +$(($(od -An -t u8 -N 8 "$1") + 9)) "$1"; }
cmp <(numbers whole.safetensors) <(numbers half.safetensors) || fail "a resumed run differs"
grep -aq '"layers.1.blocks.1.mlp._moe_layer.experts.batched_fc2_bias":' whole.safetensors || fail "not Tutel's names"

# MLP_FC2_BIAS False: the biases of experts are there, and stay zero; an export is a start for others.
"$trainc" eval --weights out/$name/whole/last.safetensors --device cpu --result eval.json >log 2>&1 || fail "eval"
awk -v a="$(json_value whole.json ema_loss)" -v b="$(json_value eval.json val_loss)" 'BEGIN {exit !(a - b < 1e-6 && b - a < 1e-6)}' ||
  fail "eval: another loss than in training"
run MODEL.NAME $name TAG again TRAIN.EPOCHS 1 MODEL.PRETRAINED whole.safetensors || fail "a pretrained start"
"$trainc" export --weights out/$name/whole/last.safetensors --onnx whole.onnx >log 2>&1 && fail "exported to ONNX"
grep -q "error: layer '.*gates.0.route': a mixture of experts cannot be exported to ONNX: the tokens" log || fail "no reason why there is no ONNX model"

# Experts by the number of processes, and messages.
run MODEL.NAME own $moe.NUM_EXPERTS 3 $moe.TOP_VALUE 2 $moe.IS_GSHARD_LOSS True $moe.COSINE_ROUTER True || { cat log; fail "a model of one's own"; }
message() { # text, options
  local text=$1
  shift
  run "$@" && fail "accepted: $*"
  grep -qF -- "$text" log || { cat log; fail "no '$text'"; }
}
message 'NUM_LOCAL_EXPERTS -4: each expert has 4 processes, but this run has 1' MODEL.NAME own $moe.NUM_LOCAL_EXPERTS -4
message 'TOP_VALUE 9: there are only 8 experts' MODEL.NAME $name $moe.TOP_VALUE 9
message 'stage 2 has no block 3' MODEL.NAME $name $moe.MOE_BLOCKS '[[-1],[3]]'
message 'is of 1 stages, and DEPTHS of 2' MODEL.NAME $name $moe.MOE_BLOCKS '[[-1]]'
message 'the importance and load loss needs' MODEL.NAME $name $moe.GATE_NOISE 0
message 'leaves no token to the experts' MODEL.NAME $name $moe.CAPACITY_FACTOR 0.001

# Two processes: NUM_LOCAL_EXPERTS 2 are 4 experts. A process routes its own images.
if command -v mpirun >/dev/null; then
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 "$trainc" --model-type swin_moe --device cpu \
    --threads 1 --epochs 2 --output out --tag two --opts "${opts[@]}" MODEL.NAME own $moe.NUM_LOCAL_EXPERTS 2 DATA.BATCH_SIZE 2 >log 2>&1 ||
    { cat log; fail "two processes"; }
else
  echo "two processes: skipped, as mpirun is not installed"
fi

finish
