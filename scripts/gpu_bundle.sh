#!/bin/bash
# Packs what scripts/check_gpu.sh needs on a GPU machine that has only CUDA, cuDNN, and Python:
# the program, the tests, configs, golden files, and this machine's shared libraries except the C
# library, CUDA, and cuDNN.
#
#   scripts/gpu_bundle.sh [FILE.tar.xz]        default build/trainc-gpu.tar.xz
#
# On the GPU machine:  tar xf trainc-gpu.tar.xz && trainc-gpu/scripts/check_gpu.sh
# (without xz: python3 -m tarfile -e trainc-gpu.tar.xz)
#
# Its C library must be at least the version that this machine's binaries require; check_gpu.sh
# reports if it is not.
#
#   WHEELS="FILE..."         wheels of pure Python packages, such as timm, for PyTorch's models
#   TRAINC=FILE, TESTS=DIR   other binaries, for example of the emulated build
#   PACK=COMMAND             another compressor; cat: none
#   PTX=1                    allow kernels in PTX only, which the driver compiles there
#   LIMIT=BYTES              fail if the file is larger (default 64 MiB)
set -eu
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/trainc-gpu.tar.xz}")
trainc=${TRAINC:-./trainc}
tests=${TESTS:-build/cc/tests}
limit=${LIMIT:-67108864}
pack=${PACK:-xz --lzma2=preset=2,dict=64MiB} # the programs share most of their code
work=$(mktemp -d "${TMPDIR:-/tmp}/trainc-bundle.XXXXXX")
trap 'rm -rf "$work"' EXIT
to=$work/trainc-gpu
mkdir -p "$to"/{bin,lib/cxx,scripts/bench,tests} "$(dirname "$out")"

# Programs that check_gpu.sh runs.
programs=("$trainc")
for t in ops/test_{ops,residual} cuda/bench_nodes models/test_{resnet,segment,transformer}_golden \
  session/test_{step,accumulation,overflow,fit} train/test_checkpoint; do
  [ -x "$tests/$t" ] || { echo "no $tests/$t: make the tests first" >&2; exit 1; }
  programs+=("$tests/$t")
done
for p in "${programs[@]:1}"; do
  mkdir -p "$to/bin/$(basename "$(dirname "$p")")"
  strip --strip-debug -o "$to/bin/$(basename "$(dirname "$p")")/$(basename "$p")" "$p"
done
strip --strip-debug -o "$to/bin/trainc" "$trainc"

# With PTX only, every first start there would compile kernels, which distorts timings.
code=$(python3 scripts/gpu/machine_code.py "$trainc") || [ -n "${PTX:-}" ] || {
  echo "$trainc has PTX alone: build it with machine code (make NVARCH='-gencode arch=compute_90,code=sm_90'," \
    "or without NVARCH), or set PTX=1" >&2
  exit 1
}

# Excludes the C library and the dynamic loader, which must match the GPU machine's system.
ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r lib; do
  case $(basename "$lib") in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux*) ;;
    libcuda* | libcudnn* | libcublas* | libnvrtc* | libnccl*) ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$lib" "$to/lib/cxx/" ;;
    libtrainc.so) strip --strip-debug -o "$to/lib/libtrainc.so" "$lib" ;;
    *) cp -L "$lib" "$to/lib/" ;;
  esac
done

cp -r configs "$to/"
cp -r tests/golden "$to/tests/"
cp -r scripts/check_gpu.sh scripts/gpu "$to/scripts/"
for w in ${WHEELS:-}; do
  python3 -m zipfile -e "$w" "$to/python" || exit 1
done
cp scripts/bench/pytorch_{train_step,resnet20,erfnet_step,erfnet}.py "$to/scripts/bench/"
for f in "$to"/bin/trainc "$to"/bin/*/* "$to"/lib/*.so*; do
  objdump -T "$f"
done | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\)).*/\1/p' | sort -Vu | tail -1 >"$to/lib/glibc"

tar -C "$work" --sort=name --owner=0 --group=0 -cf - trainc-gpu | $pack >"$out"
size=$(stat -c %s "$out")
echo "$out: $((size >> 20)) MiB, needs glibc $(cat "$to/lib/glibc"), kernels: $code"
[ "$pack" = cat ] || [ "$size" -le "$limit" ] || { echo "larger than $limit bytes" >&2; exit 1; }
