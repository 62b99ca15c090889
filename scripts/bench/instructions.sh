#!/bin/bash
# Prints what each kernel of a .cu file compiles to: registers, bytes of stack and spills, total
# instructions, global loads and stores by width, and calls (64-bit and float divisions). Requires
# nvcc and nvdisasm, but no GPU.
#
#   scripts/bench/instructions.sh FILE.cu [PATTERN]     kernels whose name matches, or all
#
#   ARCH=sm_90       GPU architecture
#   NVDISASM=FILE    default: next to nvcc, from PATH, or from a Python's triton
set -eu
cd "$(dirname "$0")/../.."
file=$1 pattern=${2:-.} arch=${ARCH:-sm_90}
cuda=${CUDA_HOME:-/usr/local/cuda}
nvcc=$(command -v "$cuda/bin/nvcc" || command -v nvcc) || { echo "no nvcc: set CUDA_HOME" >&2; exit 1; }
disassembler=${NVDISASM:-$(command -v "$cuda/bin/nvdisasm" || command -v nvdisasm ||
  python3 -c 'import os, triton; print(os.path.dirname(triton.__file__) + "/backends/nvidia/bin/nvdisasm")' 2>/dev/null)} ||
  { echo "no nvdisasm: set NVDISASM" >&2; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-sass.XXXXXX")
trap 'rm -rf "$dir"' EXIT

"$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr -arch="$arch" -Isrc -I. -Xptxas -v -cubin \
  -o "$dir/cubin" "$file" 2>"$dir/ptxas" || { cat "$dir/ptxas"; exit 1; }
"$disassembler" -c "$dir/cubin" >"$dir/sass"
printf '%9s %6s %6s %12s %6s %6s %6s %6s %6s  %s\n' registers stack spills instructions \
  LDG.128 LDG STG.128 STG calls kernel
awk '
  FILENAME ~ /ptxas$/ {
    if (/Compiling entry function/) { split($0, part, "\047"); name = part[2] }
    if (/bytes stack frame/) { stack[name] = $1; spills[name] = $5 }
    if (/Used [0-9]+ registers/) { match($0, /Used [0-9]+/); registers[name] = substr($0, RSTART + 5, RLENGTH - 5) }
    next
  }
  /^\.text\./ { name = $1; sub(/^\.text\./, "", name); sub(/:$/, "", name) }
  !/\/\*[0-9a-f]+\*\/ / { next }
  { n[name]++ }
  /LDG\.E\.128|LDG.*\.128/ { wide_loads[name]++; next }
  /LDG/ { loads[name]++ }
  /STG.*\.128/ { wide_stores[name]++; next }
  /STG/ { stores[name]++ }
  /CALL/ { calls[name]++ }
  END {
    for (k in registers)
      printf "%9d %6d %6d %12d %6d %6d %6d %6d %6d  %s\n", registers[k], stack[k], spills[k],
        n[k], wide_loads[k], loads[k], wide_stores[k], stores[k], calls[k], k
  }' "$dir/ptxas" "$dir/sass" | c++filt | sed 's/ void / /' | grep -E "$pattern" | sort -k10
