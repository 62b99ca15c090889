#!/bin/bash
# An error of CUDA, cuDNN, or cuBLASLt is reported in one line with the call, the step, its layer
# and shapes, the device and its free memory, the library's own last message, and a hint, both
# while a graph is recorded and kernel by kernel.
#
#   tests/emulator/messages.sh [TRAINC]
. "$(dirname "$0")/../e2e/lib.bash" "${1:-${EMULATED:-build/cc/emulated}/../trainc-emulated}"
"$trainc" synth shapes --out shapes --classes 4 --train 24 --val 8 --size 16 >/dev/null 2>&1

# Without fused plans, no plan is tried before the first step.
expect() { # CALL:N, then patterns of the line
  local what=$1 flag rc
  shift
  for flag in --deterministic --no-graph; do
    rm -rf out
    EMULATOR_FAIL=$what "$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes \
      --device cuda --output out --amp-dtype fp16 $flag --opts CUDNN.CACHE= \
      CUDNN.BENCHMARK=False CUDNN.FUSE=False >out.txt 2>log
    rc=$?
    grep -q error: out.txt && fail "$what $flag: the standard output has: $(grep error: out.txt)"
    grep "trainc: error:" log >line
    [ $rc = 1 ] && [ "$(wc -l <line)" = 1 ] || fail "$what $flag: exit code $rc"
    for pattern in "cuda:0 NVIDIA H200: " "GiB of 139.8 GiB are free" "$@"; do
      grep -q "$pattern" line || fail "$what $flag: no '$pattern' in: $(cat line)"
    done
  done
}

late="(errors show up late: CUDA_LAUNCH_BLOCKING=1 with --no-graph names the step)"
expect launch:60 "in step [0-9]*, [a-z_0-9]* of layer '[a-z0-9.]*' by cuda [a-z ]*: .*8x[0-9x]* fp16.* -> " \
  "an illegal memory access was encountered: cudaErrorIllegalAddress; " "$late"
expect cudnn:6- "cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED: a launch failed on purpose; " \
  "in step [0-9]*, conv2d of layer 'layer1.2.conv1' by cuda conv2d: 8x16x16x16 fp16 .*-> 8x16x16x16 fp16" \
  "$late"
expect cublaslt:2 "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED: cublasLtMatmul: a launch failed on purpose; " \
  "in step [0-9]*, bias_grad of layer 'fc' by cuda linear_weight_grad" "$late"
expect malloc:2 "cudaMalloc(.*: out of memory: cudaErrorMemoryAllocation" \
  "(a smaller DATA.BATCH_SIZE or TRAIN.USE_CHECKPOINT True needs less)"

finish
