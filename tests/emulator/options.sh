#!/bin/bash
# The effect of each key CUDNN.* on the plans chosen on the emulated GPU, whose library offers an
# engine for each mistake; a batch is tried without timing; ranges seen by a profiler.
#
#   tests/emulator/options.sh [TRAINC]
library=$(realpath "${EMULATED:-build/cc/emulated}")/libnvtx-count.so
. "$(dirname "$0")/../e2e/lib.bash" "${1:-${EMULATED:-build/cc/emulated}/../trainc-emulated}"
cfg=(--cfg "$here/configs/smoke/shapes.yaml" --device cuda)

plans() { # NAME, then options: summary's claims of convolutions to NAME.txt
  local name=$1
  shift
  EMULATOR_COUNTERS=$name.count "$trainc" summary "${cfg[@]}" --json $name.json "$@" \
    >$name.log 2>&1 || fail "$name: $(cat $name.log)"
  grep -o '"detail": *"engine[^"]*"' $name.json | sort >$name.txt
  [ -s $name.txt ] || fail "$name: no engine"
}
has() { grep -q "$2" $1.txt || fail "$1: no plan with '$2'"; }
lacks() { grep -q "$2" $1.txt && fail "$1: a plan with '$2'"; }

half=(--amp-dtype fp16 --opts CUDNN.CACHE=)
plans loose "${half[@]}" CUDNN.DETERMINISTIC=False CUDNN.BENCHMARK=False
has loose nondeterministic
plans strict "${half[@]}" CUDNN.DETERMINISTIC=True
lacks strict nondeterministic

single=(--disable-amp --opts CUDNN.CACHE= CUDNN.BENCHMARK=False)
plans tf32 "${single[@]}" CUDNN.ALLOW_TF32=True
has tf32 tensor-core
plans fp32 "${single[@]}" CUDNN.ALLOW_TF32=False
lacks fp32 tensor-core

plans wide "${half[@]}" CUDNN.DETERMINISTIC=True CUDNN.WORKSPACE_LIMIT=2097152
has wide "1.0 MiB workspace"
plans narrow "${half[@]}" CUDNN.DETERMINISTIC=True CUDNN.WORKSPACE_LIMIT=65536
lacks narrow "1.0 MiB workspace"

# Timed once, then loaded from the folder without timing.
[ "$(json_value loose.count launches)" = 0 ] || fail "timed without CUDNN.BENCHMARK"
timed=(--amp-dtype fp16 --opts CUDNN.BENCHMARK=True CUDNN.DETERMINISTIC=False)
plans timed "${timed[@]}" CUDNN.CACHE=
has timed " us"
[ "$(json_value timed.count launches)" -gt 100 ] || fail "CUDNN.BENCHMARK timed nothing"
[ -e plans ] && fail "a folder without CUDNN.CACHE"
grep -q "cuDNN engine 92 is passed over: operation failed due to a previous error during capture" timed.log ||
  fail "an engine that no graph can take: $(cat timed.log)"
lacks timed "engine 92,"
plans eager_timed --no-graph "${timed[@]}" CUDNN.CACHE=
grep -q "engine 92 is passed over" eager_timed.log && fail "an engine was tried in a graph without one"
EMULATOR_FAIL=cudnn:5 plans refused "${timed[@]}" CUDNN.CACHE=
grep -q "is passed over: CUDNN_STATUS_EXECUTION_FAILED" refused.log || fail "an engine that fails: $(cat refused.log)"
EMULATOR_FAIL=malloc:1 plans full "${timed[@]}" CUDNN.CACHE=full
has full " us"
grep -q "no room to time cuDNN's engines" full.log || fail "no room: $(cat full.log)"
plans first "${timed[@]}" CUDNN.CACHE=plans
[ -n "$(ls plans)" ] || fail "CUDNN.CACHE: nothing in the folder"
plans second "${timed[@]}" CUDNN.CACHE=plans
[ "$(json_value second.count launches)" = 0 ] || fail "the second start times again"
cmp -s <(sed 's/, cached//' first.txt) <(sed 's/, cached//' second.txt) ||
  fail "other plans than the first start's: $(diff first.txt second.txt | head -3)"

# GEMMs: the heuristic's first without timing, the fastest with it; then loaded without timing. The
# convolutions' plans are those from above.
cp -r plans gemms
cp -r plans passed
gemms() { # NAME, then options: summary's algorithms of cuBLASLt to NAME.gemms
  plans "$@" MODEL.NUM_CLASSES=8
  grep -o 'fp16[^"]*, algorithm [^"]*' $1.json | sed 's/, [0-9.]* us//' >$1.gemms
}
gemms offered "${half[@]}" CUDNN.BENCHMARK=False
[ "$(grep -c "algorithm 66," offered.gemms)" = 3 ] || fail "the heuristic's first: $(cat offered.gemms)"
EMULATOR_SLOW_GEMM=66 gemms faster "${timed[@]}" CUDNN.CACHE=gemms
[ "$(wc -l <faster.gemms)" = 3 ] && ! grep "algorithm 66," faster.gemms || fail "a slow algorithm is used: $(cat faster.gemms)"
grep -q "algorithm [0-9]*, [0-9.]* MiB workspace, [0-9.]* us" faster.json || fail "no time of a GEMM"
EMULATOR_SLOW_GEMM=0 gemms again "${timed[@]}" CUDNN.CACHE=gemms
[ "$(json_value again.count launches)" = 0 ] || fail "GEMMs are timed again"
cmp -s faster.gemms again.gemms || fail "other algorithms than the first start's: $(diff faster.gemms again.gemms)"
EMULATOR_FAIL=cublaslt:1 gemms passed "${timed[@]}" CUDNN.CACHE=passed
grep -q "cuBLASLt algorithm 66 is passed over: CUBLAS_STATUS_EXECUTION_FAILED" passed.log || fail "a failing algorithm: $(cat passed.log)"
"$trainc" summary "${cfg[@]}" --device h200 --json described.json "${half[@]}" MODEL.NUM_CLASSES=8 >/dev/null 2>&1
grep -q "fp16.* at most, chosen on the GPU" described.json || fail "a described device chooses algorithms"

# Only a few compiled engines are timed, and none is compiled without being used.
shapes=("${cfg[@]}") cfg=(--cfg "$here/configs/smoke/segment.yaml" --device cuda)
export EMULATOR_COMPILED=$dir/compiled.list
built() { grep -c "^engine $1$" "$EMULATOR_COMPILED"; }
plans compiled --batch-size 1 "${timed[@]}" CUDNN.CACHE=
has compiled runtime-compiled
lacks compiled "engine 100,"
if [ -e "$EMULATOR_COMPILED" ]; then
  [ "$(built 101)" -gt 0 ] && [ "$(built 101)" = "$(built 103)" ] ||
    fail "engine 101 was compiled $(built 101) times, 103 $(built 103) times"
  [ "$(built 104)" = 0 ] || fail "a fourth engine was compiled"
  [ "$(built 100)" = 0 ] || fail "an engine without tensor cores was compiled"
  rm "$EMULATOR_COMPILED"
else
  fail "nothing was compiled"
fi
EMULATOR_MEMORY=1G plans huge_compiled --batch-size 16384 "${timed[@]}" CUDNN.CACHE=
has huge_compiled runtime-compiled
grep -q "the largest DATA.BATCH_SIZE that fits is" huge_compiled.log ||
  fail "huge, compiled: $(tail -3 huge_compiled.log)"
[ -e "$EMULATOR_COMPILED" ] && fail "engines were compiled for a batch that does not fit"
unset EMULATOR_COMPILED

# Convolutions fused with the following ops in one plan, or separate.
ops_of() { python3 - "$1" <<'EOF'
import json, sys
claims = [c for c in json.load(open(sys.argv[1]))["claims"] if c["kernel"].startswith("cuda conv2d")]
print(max(len(c["ops"]) for c in claims))
EOF
}
plans fused --batch-size 1 "${half[@]}" CUDNN.BENCHMARK=False
plans apart --batch-size 1 "${half[@]}" CUDNN.BENCHMARK=False CUDNN.FUSE=False
[ "$(ops_of fused.json)" -gt 1 ] || fail "CUDNN.FUSE True: no convolution is fused"
[ "$(ops_of apart.json)" = 1 ] || fail "CUDNN.FUSE False: a plan has $(ops_of apart.json) ops"

# An engine that loses NaN is not used for a convolution with bias and relu; if all do, the relu is
# our own kernel.
lacks fused "engine 11,"
relus() { python3 - "$1" <<'EOF'
import json, sys
print(sum("relu" in c["ops"] and "conv2d" in c["ops"] for c in json.load(open(sys.argv[1]))["claims"]))
EOF
}
[ "$(relus fused.json)" -gt 5 ] || fail "relus in plans: $(relus fused.json)"
EMULATOR_CLIPS=1 plans clipped --batch-size 1 "${half[@]}" CUDNN.BENCHMARK=False
[ "$(relus clipped.json)" = 0 ] || fail "relus in plans that lose NaN: $(relus clipped.json)"
EMULATOR_FAIL=malloc:1- "$trainc" summary "${cfg[@]}" --batch-size 1 "${half[@]}" CUDNN.BENCHMARK=False >unseen.log 2>&1 ||
  fail "no room: $(cat unseen.log)"
grep -q "no room to see whether cuDNN's engines keep NaN" unseen.log || fail "no room: $(cat unseen.log)"
cfg=("${shapes[@]}")

# Statistics come with a convolution, unless its engine is timed and slower than a pass over its
# result.
sums() { python3 - "$1" <<'EOF'
import json, sys
print(sum(c["kernel"] == "cuda conv2d statistics" for c in json.load(open(sys.argv[1]))["claims"]))
EOF
}
plans summed --batch-size 4 "${half[@]}" CUDNN.BENCHMARK=False
[ "$(sums summed.json)" -gt 5 ] || fail "statistics in convolutions: $(sums summed.json)"
[ "$(sums timed.json)" = "$(sums summed.json)" ] || fail "statistics in timed convolutions: $(sums timed.json)"
EMULATOR_SLOW=1 plans slow --batch-size 4 "${timed[@]}" CUDNN.CACHE=
[ "$(sums slow.json)" = 0 ] || fail "statistics in slow convolutions: $(sums slow.json)"
EMULATOR_SLOW=1 plans untimed --batch-size 4 "${half[@]}" CUDNN.BENCHMARK=False
[ "$(sums untimed.json)" = "$(sums summed.json)" ] || fail "statistics, untimed: $(sums untimed.json)"

# Attention of a ViT: dq summed in a fixed order on request, a padding mask if this cuDNN version
# needs one, and our own kernels without fusion, with engines that lose NaN or do not run, or with
# a version that is known to be wrong.
cfg=(--cfg "$here/configs/vit_tiny.yaml" --device cuda --batch-size 2 --img-size 32)
attention() { python3 - "$1" <<'EOF'
import json, sys
names = [c["kernel"] for c in json.load(open(sys.argv[1]))["claims"] if "window_attention" in c["ops"][0]]
print(*(names.count("cuda " + n) for n in ("attention cudnn", "attention_grad cudnn", "window_attention mma",
                                           "window_attention_grad mma")))
EOF
}
attends() { # NAME, forward and backward by cuDNN and by us, then options
  local name=$1 want=$2
  shift 2
  plans "$name" "${half[@]}" CUDNN.BENCHMARK=False "$@"
  [ "$(attention "$name.json")" = "$want" ] || fail "$name: attention by cuDNN and by us: $(attention "$name.json"), not $want"
}
attends attended "12 12 0 0"
has attended "engine 2, .*tensor-core runtime-compiled"
has attended "engine 6, .*dq summed in any order"
lacks attended masked
attends in_order "12 12 0 0" CUDNN.DETERMINISTIC=True
has in_order "engine 6, "
lacks in_order "any order"
EMULATOR_CUDNN=91400 attends masked "12 12 0 0"
has masked "engine 6, .*masked"
EMULATOR_CUDNN=91001 attends wrong "0 0 12 12"
attends attention_apart "0 0 12 12" CUDNN.FUSE=False
EMULATOR_CLIPS=1 attends attention_clipped "0 0 12 12"
EMULATOR_REFUSES=2 attends attention_refused "0 12 12 0"
EMULATOR_ATTENTION=forward attends attention_forward "12 0 0 12"
attends attention_narrow "12 0 0 12" CUDNN.WORKSPACE_LIMIT=65536
attends attention_timed "12 12 0 0" CUDNN.BENCHMARK=True
has attention_timed "engine 6, .* us, dq summed in any order"
cfg=("${shapes[@]}")

# Every batch norm of a model has a kernel fused with its neighbors.
for model in cityscapes/erfnet20 resnet50 cifar10/resnet20; do
  "$trainc" summary --cfg "$here/configs/$model.yaml" --device cuda --batch-size 4 \
    --opts CUDNN.CACHE= CUDNN.BENCHMARK=False AMP.DTYPE=fp16 >"$(basename $model).txt" 2>&1 ||
    fail "$model: $(cat "$(basename $model).txt")"
  grep "the loop for all cases" "$(basename $model).txt" && fail "$model: a batch norm of no case"
done

# A bias before a batch norm has a zero gradient, which costs no pass: of ERFNet's 73 biases, 34
# remain, before a relu, and three of joined channels, which read a vector.
[ "$(grep -c '^backward .* cuda bias_grad ' erfnet20.txt)" = 37 ] ||
  fail "erfnet20: gradients of biases: $(grep -c '^backward .* cuda bias_grad ' erfnet20.txt)"
[ "$(grep -c 'bias_grad + batchnorm_grad_apply' erfnet20.txt)" = 36 ] || fail "erfnet20: biases of zeros"

# The largest batch that fits is found without timing anything.
export EMULATOR_MEMORY=1200M
plans huge "${timed[@]}" CUDNN.CACHE= DATA.BATCH_SIZE=16384
[ "$(json_value huge.count launches)" = 0 ] || fail "a batch that does not fit was timed"
grep -q "the largest DATA.BATCH_SIZE that fits is" huge.log || fail "huge: $(tail -3 huge.log)"
unset EMULATOR_MEMORY
plans eager "${half[@]}" CUDNN.DETERMINISTIC=True

# The same queries as to NVIDIA's cuDNN, which not every machine has.
"$here/tests/e2e/summary_gpu.sh" "$trainc" >log || fail "summary of a described GPU"
grep -q "above its lower bound" log || fail "no arena"

# A profiler sees one range per step, and the kernels recorded inside.
"$trainc" synth shapes --out shapes --classes 4 --train 48 --val 12 --size 16 >/dev/null 2>&1
NVTX_INJECTION64_PATH=$library NVTX_RANGES=ranges "$trainc" "${cfg[@]}" --data-path shapes \
  --output out "${half[@]}" TRAIN.EPOCHS=2 CUDNN.DETERMINISTIC=True >log 2>&1 || fail "$(cat log)"
[ "$(grep -c '^training step$' ranges)" = 12 ] || fail "ranges: not 12 training steps"
[ "$(grep -c '^evaluation step$' ranges)" = 4 ] || fail "ranges: not 4 evaluation steps"
grep -q '^  cuda conv2d statistics layer1.0.bn1$' ranges || fail "ranges: no layer in a step"
grep 'left open\|too many' ranges && fail "ranges are not closed"

# 8-bit: cuDNN's int8 convolutions, whose results equal the reference's.
"$trainc" synth shapes --out shapes --classes 3 --train 6 --val 6 --size 32 2>/dev/null
"$trainc" --model resnet20 --data-path shapes --img-size 32 --device cpu -b 6 --epochs 1 --output eight \
  --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 || fail "8 bits: training"
"$trainc" quantize --weights eight/resnet20/default/last.safetensors --calib shapes/train -n 6 --device cpu \
  --out q.safetensors --opts QUANT.FIRST True QUANT.LAST True >log 2>&1 || fail "quantize"
"$trainc" predict --weights q.safetensors --device cuda shapes/val >said 2>log || fail "8 bits: predict"
"$trainc" predict --weights q.safetensors --device ref shapes/val 2>log | cmp -s - said || fail "8 bits: other answers"
"$trainc" bench --inference --weights q.safetensors --device cuda --val-batch-size 2 --seconds 0.1 --trace >traced 2>log
[ "$(grep -c "^[a-z].*  cuda qlayer  .*q\(conv2d\|linear\)" traced)" = 20 ] || fail "8 bits: layers that cuDNN does not do"

finish
