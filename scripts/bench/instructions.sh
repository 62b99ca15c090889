#!/bin/bash
# Prints what each kernel of a .cu file compiles to: registers, bytes of stack and spills, total
# instructions, global loads and stores by width, loads whose value is needed within three
# instructions (a thread waits for each of these by itself), and calls (64-bit and float
# divisions). Requires nvcc and nvdisasm, but no GPU.
#
#   scripts/bench/instructions.sh FILE.cu [PATTERN]     kernels whose name matches, or all
#   scripts/bench/instructions.sh --check               fails where a kernel has become worse than
#                                                       instructions.list allows; 77: no nvdisasm
#
#   ARCH=sm_90       GPU architecture
#   NVDISASM=FILE    default: next to nvcc, from PATH, from a Python's triton, or NVIDIA's Python
#                    package (5 MB), which is downloaded once to ~/.cache/trainc-nvdisasm
set -eu
cd "$(dirname "$0")/../.."
pattern=${2:-.} arch=${ARCH:-sm_90} missing=$([ "$1" = --check ] && echo 77 || echo 1)
cuda=${CUDA_HOME:-/usr/local/cuda}
nvcc=$(command -v "$cuda/bin/nvcc" || command -v nvcc) || { echo "no nvcc: set CUDA_HOME" >&2; exit "$missing"; }
downloaded() {
  local dir=$HOME/.cache/trainc-nvdisasm
  if [ ! -x "$dir/nvdisasm" ]; then
    mkdir -p "$dir" && python3 -m pip download -q --retries 0 --timeout 10 --no-deps -d "$dir" \
      nvidia-cuda-nvdisasm==13.2.78 >/dev/null 2>&1 && unzip -qoj "$dir"/*.whl '*/bin/nvdisasm' -d "$dir" &&
      chmod +x "$dir/nvdisasm" || return
  fi
  echo "$dir/nvdisasm"
}
disassembler=${NVDISASM:-$(command -v "$cuda/bin/nvdisasm" || command -v nvdisasm ||
  python3 -c 'import os, triton; print(os.path.dirname(triton.__file__) + "/backends/nvidia/bin/nvdisasm")' 2>/dev/null ||
  downloaded)} ||
  { echo "no nvdisasm: set NVDISASM" >&2; exit "$missing"; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-sass.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# Prints the kernels of FILE, a line each.
kernels() { # FILE
  "$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr -arch="$arch" -Isrc -I. -Xptxas -v -cubin \
    -o "$dir/cubin" "$1" 2>"$dir/ptxas" || { cat "$dir/ptxas"; exit 1; }
  "$disassembler" -c "$dir/cubin" >"$dir/sass"
  awk '
    # Registers that an instruction reads: all but its first, which it writes, if it writes one.
    function reads(text,    list, n, rest) {
      n = 0
      rest = text
      sub(/^(@!?U?P[0-9T]+ )?[A-Z0-9_.]+ /, "", rest)
      if (text !~ /^(@!?U?P[0-9T]+ )?(ST|RED|ATOM|ISETP|FSETP|BRA|EXIT)/)
        sub(/^[^,]*/, "", rest)
      return " " rest " "
    }
    # Counts the loads of `late` more instructions ago or less that this one needs.
    function look(text,    i, r, from) {
      from = reads(text)
      for (i = 1; i <= 3; i++)
        if (first[i] != "" && !found[i])
          for (r = first[i]; r < first[i] + width[i]; r++)
            if (from ~ "[^A-Z0-9]R" r "[^0-9]") { waits[name]++; found[i] = 1; break }
      for (i = 3; i > 1; i--) { first[i] = first[i - 1]; width[i] = width[i - 1]; found[i] = found[i - 1] }
      first[1] = ""
      found[1] = 0
      if (match(text, /LDG[^ ]* R[0-9]+/)) {
        first[1] = substr(text, RSTART, RLENGTH)
        width[1] = first[1] ~ /\.128/ ? 4 : first[1] ~ /\.64/ ? 2 : 1
        sub(/^.* R/, "", first[1])
        first[1] += 0
      }
    }
    FILENAME ~ /ptxas$/ {
      if (/Compiling entry function/) { split($0, part, "\047"); name = part[2] }
      if (/bytes stack frame/) { stack[name] = $1; spills[name] = $5 }
      if (/Used [0-9]+ registers/) { match($0, /Used [0-9]+/); registers[name] = substr($0, RSTART + 5, RLENGTH - 5) }
      next
    }
    /^\.text\./ { name = $1; sub(/^\.text\./, "", name); sub(/:$/, "", name); first[1] = first[2] = first[3] = "" }
    !/\/\*[0-9a-f]+\*\/ / { next }
    {
      n[name]++
      text = $0
      sub(/^.*\/\*[0-9a-f]+\*\/ */, "", text)
      look(text)
    }
    /LDG.*\.128/ { wide_loads[name]++; next }
    /LDG/ { loads[name]++ }
    /STG.*\.128/ { wide_stores[name]++; next }
    /STG/ { stores[name]++ }
    /CALL/ { calls[name]++ }
    END {
      for (k in registers)
        printf "%9d %6d %6d %12d %6d %6d %6d %6d %6d %6d  %s\n", registers[k], stack[k], spills[k],
          n[k], wide_loads[k], loads[k], wide_stores[k], stores[k], waits[k], calls[k], k
    }' "$dir/ptxas" "$dir/sass" | c++filt | sed 's/ void / /' | sort -k11
}

if [ "$1" != --check ]; then
  printf '%9s %6s %6s %12s %6s %6s %6s %6s %6s %6s  %s\n' registers stack spills instructions \
    LDG.128 LDG STG.128 STG waits calls kernel
  kernels "$1" | grep -E "$pattern"
  exit
fi

fails=0
done_file=
while read -r line; do
  [[ $line && $line != '#'* ]] || continue
  read -r file _ <<<"$line"
  read -r per waits bytes < <(awk '{ print $NF, $(NF - 1), $(NF - 2) }' <<<"$line")
  kernel=$(sed -E 's/^[^ ]+ +//; s/( +[0-9.]+){3} *$//' <<<"$line")
  [ "$file" = "$done_file" ] || kernels "cuda/$file" >"$dir/table"
  done_file=$file
  grep -F " $kernel(" "$dir/table" | head -1 >"$dir/row" || true
  awk -v kernel="$kernel" -v bytes="$bytes" -v waits="$waits" -v per="$per" '
    { seen = 1; printf "%-52s %5d instructions, %5.2f per byte of %s, %2d loads waited for of %s, %d bytes of spills\n",
        kernel, $4, $4 / bytes, per, $9, waits, $3
      bad = $4 / bytes > per || $9 > waits }
    END { if (!seen) print kernel ": no such kernel"; exit bad || !seen }' "$dir/row" ||
    { echo "FAILED: $kernel"; fails=$((fails + 1)); }
done <scripts/bench/instructions.list
exit $((fails > 0))
