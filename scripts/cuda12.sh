#!/bin/bash
# Compiles cuda/ with the headers of CUDA 12.4, the oldest toolkit that builds trainc: C files with
# their warnings, kernels as for the emulated GPU. If there is an nvcc, the assembler of CUDA 12.4
# also compiles its PTX to machine code for sm_80 and sm_90 (six minutes of CPU time for all files).
# Nothing is linked. Headers and ptxas come from NVIDIA's Python packages (about 390 MB, downloaded
# once), which have no nvcc of CUDA 12; cuDNN's headers are those installed here.
#
#   scripts/cuda12.sh [FILE...]     default: all files of cuda/
#
#   CUDA12=FOLDER    where they are or will be, in include/ and bin/; default: ~/.cache/trainc-cuda12
#   PYTHON=COMMAND   with pip; default: python3
#   CUDA_HOME=DIR    for cudnn.h and nvcc; default: /usr/local/cuda
set -eu
cd "$(dirname "$0")/.."
dir=${CUDA12:-$HOME/.cache/trainc-cuda12} python=${PYTHON:-python3} cuda=${CUDA_HOME:-/usr/local/cuda}
packages=(nvidia-cuda-runtime-cu12==12.4.127 nvidia-cublas-cu12==12.4.5.8 nvidia-nvtx-cu12==12.4.127
  nvidia-cuda-nvcc-cu12==12.4.131)
if [ ! -x "$dir/bin/ptxas" ]; then
  mkdir -p "$dir/wheels" "$dir/include"
  "$python" -m pip download -q --no-deps -d "$dir/wheels" "${packages[@]}"
  for wheel in "$dir"/wheels/*.whl; do
    unzip -qo "$wheel" 'nvidia/*/include/*' -d "$dir/part"
  done
  unzip -qoj "$dir"/wheels/nvidia_cuda_nvcc*.whl '*/bin/ptxas' -d "$dir/part"
  cp -r "$dir"/part/nvidia/*/include/. "$dir/include"
  cp "$cuda"/include/cudnn*.h "$dir/include"
  install -D -m 755 "$dir/part/ptxas" "$dir/bin/ptxas" # last: all is there
  rm -rf "$dir/wheels" "$dir/part"
fi
[ $# -gt 0 ] || set -- cuda/*.c cuda/*.cu
common=(-fsyntax-only -Wall -Wextra -Werror -Isrc -I. -D_GNU_SOURCE -isystem "$dir/include")
nvcc=$(command -v "$cuda/bin/nvcc" || command -v nvcc || true)
ptx=$(mktemp "${TMPDIR:-/tmp}/trainc-cuda12.XXXXXX")
trap 'rm -f "$ptx"' EXIT

# CUDA 12.4 assembles PTX up to version 8.4: a later instruction is an error.
assemble() { # FILE.cu
  "$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr -arch=compute_80 -Isrc -I. -ptx -o "$ptx" "$1" &&
    sed -i 's/^\.version .*/.version 8.4/' "$ptx" &&
    for arch in sm_80 sm_90; do "$dir/bin/ptxas" -arch=$arch -o /dev/null "$ptx" || return; done
}

fails=0
for file in "$@"; do
  case $file in
    *.cu) how=("${CXX:-g++}" -std=c++20 -x c++ -Wno-missing-field-initializers -include tests/emulator/launch.h) ;;
    *) how=("${CC:-gcc}" -std=c11 -DCUDA_MAJOR=12 -include src/base/banned.h) ;;
  esac
  "${how[@]}" "${common[@]}" "$file" && { [[ $file != *.cu || -z $nvcc ]] || assemble "$file"; } ||
    { echo "FAILED: $file with CUDA 12.4"; fails=$((fails + 1)); }
done
echo "$(($# - fails)) of $# files compile with the headers${nvcc:+ and the assembler} of CUDA 12.4"
exit $((fails > 0))
