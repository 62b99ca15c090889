#!/bin/bash
# Problems of a machine in a first run, on the emulated GPU: libraries that allocate memory, engines
# that do not run after all, graphs that cannot be recorded, drivers that report errors, libraries
# only in Python packages. A run continues if possible, with one line, and otherwise prints a hint.
#
#   tests/emulator/trouble.sh [TRAINC]
libraries=$(realpath "${EMULATED:-build/cc/emulated}")
. "$(dirname "$0")/../e2e/lib.bash" "${1:-${EMULATED:-build/cc/emulated}/../trainc-emulated}"
says() { grep -q -- "$2" log || fail "$1: no '$2'"; }
"$trainc" synth shapes --out shapes --classes 4 --train 24 --val 8 --size 16 >/dev/null 2>&1

cfg=(--cfg "$here/configs/smoke/shapes.yaml" --device cuda)
train() { # NAME KEY=VALUE...: to NAME.tensors
  local name=$1
  shift
  rm -rf out
  "$trainc" "${cfg[@]}" --data-path shapes --output out --amp-dtype fp16 --opts \
    CUDNN.BENCHMARK=False TRAIN.EPOCHS=1 "$@" >log 2>&1 || fail "$name"
  tensor_bytes out/*/default/last.safetensors >$name.tensors
}
same() { cmp -s $1.tensors $2.tensors || fail "$2: other weights than $1"; }

# Memory of the libraries counts once: as their reserve, or as allocated. If it exceeds the
# reserve, the batch is chosen again.
auto() { # NAME MEMORY TIMES BATCHES
  EMULATOR_MEMORY=$2 EMULATOR_TAKES=$3 timeout 100 "$trainc" summary "${cfg[@]}" -b auto --opts \
    CUDNN.CACHE= CUDNN.BENCHMARK=False >log 2>&1 || fail "-b auto, $1"
  [ "$(grep -c 'DATA.BATCH_SIZE auto: [0-9]* images' log)" = "$4" ] || fail "-b auto, $1: not $4 times chosen"
  tail -1 log | grep -q "out of memory" && fail "-b auto, $1: out of memory"
}
auto "small libraries" 1000M 1 1
auto "large libraries" 1800M 13 2

# An engine that is planned but does not run is replaced by the next one, even if its plan was
# stored; then the stored plan is the one that runs.
train plain CUDNN.CACHE= CUDNN.DETERMINISTIC=True
train kept CUDNN.CACHE=plans CUDNN.DETERMINISTIC=True
same plain kept
grep -lq '"engine": 67' plans/* || fail "no plan of engine 67"
export EMULATOR_REFUSES=67
train second CUDNN.CACHE=plans CUDNN.DETERMINISTIC=True
says second "cuDNN engine 67 does not run (CUDNN_STATUS_EXECUTION_FAILED): engine [0-9]* takes its place"
same plain second
grep -l '"engine": 67' plans/* && fail "a plan that does not run is still kept"
train third CUDNN.CACHE=plans CUDNN.DETERMINISTIC=True
grep -q "does not run" log && fail "the second start tries it again"
same plain third
unset EMULATOR_REFUSES

# Every engine fails: one line, with cuDNN's first message.
EMULATOR_FAIL=cudnn:6- "$trainc" "${cfg[@]}" --data-path shapes --output out2 --deterministic \
  --opts CUDNN.CACHE= >log 2>&1 && fail "a run without an engine that runs"
says "no engine" "cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED"

# A step that cannot be recorded is run kernel by kernel.
EMULATOR_FAIL=capture:40 train spoiled CUDNN.CACHE= CUDNN.DETERMINISTIC=True
says spoiled "no CUDA graph (.*operation not permitted when stream is capturing at layer .*): steps are launched kernel by kernel"
same plain spoiled
for call in begin instantiate upload; do
  EMULATOR_FAIL=$call:1 train $call CUDNN.CACHE= CUDNN.DETERMINISTIC=True
  says $call "no CUDA graph (.*): steps are launched kernel by kernel"
  [ "$(grep -c "no CUDA graph" log)" = 1 ] || fail "$call: reported more than once"
  same plain $call
done

# Driver errors and their hints.
no() { # CODE PATTERN [SETTING...]
  env EMULATOR_DEVICES=$1 "${@:3}" "$trainc" "${cfg[@]}" --data-path shapes --output out4 >log 2>&1 &&
    fail "error $1: a run"
  says "error $1" "$2"
}
no 802 "nvidia-fabricmanager has to run"
no 803 "restart after an update"
no 804 "remove its folder from LD_LIBRARY_PATH"
no 35 "it knows CUDA 12.4, and trainc needs 13.* (CUDA 13 needs an NVIDIA driver from 580 on" EMULATOR_DRIVER=12040

# Libraries only found in a Python environment.
for package in cudnn:libcudnn.so.9 cu13:libcublasLt.so.13; do
  mkdir -p env/lib/python3.11/site-packages/nvidia/${package%:*}/lib
  ln -s "$libraries/${package#*:}" env/lib/python3.11/site-packages/nvidia/${package%:*}/lib/
done
mkdir -p env/bin && ln -s /bin/true env/bin/python3
if ! ldconfig -p 2>/dev/null | grep -q 'libcudnn.so.9'; then
  for setting in VIRTUAL_ENV=$dir/env CONDA_PREFIX=$dir/env "PATH=$dir/env/bin:$PATH"; do
    env -u LD_LIBRARY_PATH TRAINC_CUDNN= TRAINC_CUBLASLT= CUDA_HOME=/none "$setting" \
      "$trainc" devices >log 2>&1
    says "$setting" "cuDNN .*($dir/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9)"
    says "$setting" "cuBLASLt .*nvidia/cu13/lib/libcublasLt.so.13)"
  done
else
  echo "libraries of Python packages: skipped, as the system has a cuDNN"
fi

# A GPU's description has everything that cuDNN reports about it.
"$trainc" devices --json >log 2>&1
says description '"deviceName": "NVIDIA H200 (emulated)"'

finish
