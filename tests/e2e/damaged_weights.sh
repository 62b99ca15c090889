#!/bin/bash
# Every subcommand that reads weights names a missing, empty, truncated, or damaged file, or a
# folder, in one line of error that also says what is wrong, and writes nothing.
#
#   tests/e2e/damaged_weights.sh [TRAINC]
set -u
trainc=$(realpath "${1:-./trainc}")
here=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-weights.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0

fail() { echo "FAILED: $*"; fails=$((fails + 1)); }

"$trainc" synth shapes --out data --classes 4 --train 16 --val 8 --size 16 2>/dev/null || exit 1
cfg=(--cfg "$here/configs/smoke/shapes.yaml" --device cpu)
run=("${cfg[@]}" --data-path data --output out)
"$trainc" "${run[@]}" --epochs 1 --output first >log 2>&1 || { cat log; exit 1; }
whole=first/resnet20/default/last.safetensors
image=$(find data/val -name '*.*' -type f | head -1)

flip() { # BYTE FILE: flips one bit of it
  printf '%b' "\\x$(printf %x $((0x$(od -An -tx1 -j "$1" -N1 "$2" | tr -d ' ') ^ 0x10)))" |
    dd of="$2" bs=1 seek="$1" conv=notrunc 2>/dev/null
}

mkdir folder.safetensors
for n in 0 5 1000 $(($(stat -c %s $whole) / 2)); do head -c "$n" $whole >cut$n.safetensors; done
for n in 3 8 9; do cp $whole flip$n.safetensors && flip $n flip$n.safetensors; done # length, {, "
head -c 1000 "$here/tests/golden/io/zip.pth" >cut.pth

refuses() { # FILE ARGUMENT...: FILE replaces the word FILE in them
  local file=$1 rc
  shift
  "$trainc" "${@/FILE/$file}" >stdout 2>log </dev/null
  rc=$?
  [ $rc = 1 ] || [ $rc = 2 ] || fail "$* of $file: exit code $rc: $(tail -1 log)"
  [ "$(grep -c 'error: ' log)" = 1 ] && grep 'error: ' log | grep -q "'$file'" ||
    fail "$* of $file: $(grep 'error: ' log)"
  for written in out new.*; do
    [ ! -e "$written" ] || { fail "$* of $file: $written was written"; rm -rf "$written"; }
  done
}

for file in missing.safetensors folder.safetensors cut* flip*; do
  refuses $file train "${run[@]}" --resume FILE
  refuses $file train "${run[@]}" --pretrained FILE
  refuses $file eval "${run[@]}" --resume FILE
  refuses $file eval "${run[@]}" --pretrained FILE
  refuses $file eval --resume FILE
  refuses $file eval --data-path data --resume FILE
  refuses $file predict --weights FILE "$image"
  refuses $file predict "${cfg[@]}" --weights FILE "$image"
  refuses $file features --weights FILE --out new.npz "$image"
  refuses $file features "${cfg[@]}" --weights FILE --out new.npz "$image"
  refuses $file export --weights FILE --out new.safetensors
  refuses $file export --weights FILE --onnx new.onnx
  refuses $file export "${cfg[@]}" --weights FILE --onnx new.onnx
  refuses $file quantize --weights FILE --out new.safetensors --calib data/val
  refuses $file summary "${cfg[@]}" --resume FILE
  refuses $file summary "${cfg[@]}" --pretrained FILE
  refuses $file bench "${cfg[@]}" --pretrained FILE
  refuses $file bench "${cfg[@]}" --inference --weights FILE
  refuses $file profile "${run[@]}" --resume FILE
  refuses $file profile "${run[@]}" --pretrained FILE
  refuses $file report FILE --out new.html
done

[ $fails = 0 ] && echo "damaged_weights: passed" || { echo "damaged_weights: $fails failed"; exit 1; }
