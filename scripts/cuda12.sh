#!/bin/bash
# Compiles cuda/ with the headers of CUDA 12.4, the oldest toolkit that builds trainc: C files with
# their warnings, kernels as for the emulated GPU. Nothing is linked. The headers come from NVIDIA's
# Python packages (about 390 MB, downloaded once); cuDNN's are those installed here.
#
#   scripts/cuda12.sh [FILE...]     default: all files of cuda/
#
#   CUDA12=FOLDER    where the headers are or will be; default: ~/.cache/trainc-cuda12
#   PYTHON=COMMAND   with pip; default: python3
#   CUDA_HOME=DIR    for cudnn.h; default: /usr/local/cuda
set -eu
cd "$(dirname "$0")/.."
dir=${CUDA12:-$HOME/.cache/trainc-cuda12} python=${PYTHON:-python3} cuda=${CUDA_HOME:-/usr/local/cuda}
packages=(nvidia-cuda-runtime-cu12==12.4.127 nvidia-cublas-cu12==12.4.5.8 nvidia-nvtx-cu12==12.4.127
  nvidia-cuda-nvcc-cu12==12.4.131)
if [ ! -d "$dir/include" ]; then
  mkdir -p "$dir/wheels"
  "$python" -m pip download -q --no-deps -d "$dir/wheels" "${packages[@]}"
  for wheel in "$dir"/wheels/*.whl; do
    unzip -qo "$wheel" 'nvidia/*/include/*' -d "$dir/part"
  done
  mkdir "$dir/whole"
  cp -r "$dir"/part/nvidia/*/include/. "$dir/whole"
  cp "$cuda"/include/cudnn*.h "$dir/whole"
  mv "$dir/whole" "$dir/include"
  rm -rf "$dir/wheels" "$dir/part"
fi
[ $# -gt 0 ] || set -- cuda/*.c cuda/*.cu
common=(-fsyntax-only -Wall -Wextra -Werror -Isrc -I. -D_GNU_SOURCE -isystem "$dir/include")
fails=0
for file in "$@"; do
  case $file in
    *.cu) how=("${CXX:-g++}" -std=c++20 -x c++ -Wno-missing-field-initializers -include tests/emulator/launch.h) ;;
    *) how=("${CC:-gcc}" -std=c11 -DCUDA_MAJOR=12 -include src/base/banned.h) ;;
  esac
  "${how[@]}" "${common[@]}" "$file" || { echo "FAILED: $file with CUDA 12.4"; fails=$((fails + 1)); }
done
echo "$# files compile with the headers of CUDA 12.4, but for $fails"
exit $((fails > 0))
