#!/bin/bash
# Every subcommand that reads weights names a missing, empty, truncated, or damaged file, or a
# folder, in one line of error that also says what is wrong, and writes nothing.
#
#   tests/e2e/damaged_weights.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out data --classes 4 --train 16 --val 8 --size 16 2>/dev/null || exit 1
cfg=(--cfg "$here/configs/smoke/shapes.yaml" --device cpu)
run=("${cfg[@]}" --data-path data --output out)
"$trainc" "${run[@]}" --epochs 1 --output first >log 2>&1 || { fail "train"; finish; }
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

rejects() { # FILE ARGUMENT...: FILE replaces the word FILE in them
  local file=$1 rc
  shift
  "$trainc" "${@/FILE/$file}" >stdout 2>log </dev/null
  rc=$?
  [ $rc = 1 ] || [ $rc = 2 ] || fail "$* of $file: exit code $rc: $(tail -1 log)"
  [ "$(grep -c 'error: ' log)" = 1 ] && grep 'error: ' log | grep -q "'$file'" ||
    fail "$* of $file: $(grep 'error: ' log)"
  case $file in
    cut[1-9]*) [ "$1" = report ] || grep -q 'error: .*cut off' log || fail "$* of $file: nothing says that it is cut off: $(grep 'error: ' log)" ;;
  esac
  for written in out new.*; do
    [ ! -e "$written" ] || { fail "$* of $file: $written was written"; rm -rf "$written"; }
  done
}

for file in missing.safetensors folder.safetensors cut* flip*; do
  rejects $file train "${run[@]}" --resume FILE
  rejects $file train "${run[@]}" --pretrained FILE
  rejects $file eval "${run[@]}" --resume FILE
  rejects $file eval "${run[@]}" --pretrained FILE
  rejects $file eval --resume FILE
  rejects $file eval --data-path data --resume FILE
  rejects $file predict --weights FILE "$image"
  rejects $file predict "${cfg[@]}" --weights FILE "$image"
  rejects $file features --weights FILE --out new.npz "$image"
  rejects $file features "${cfg[@]}" --weights FILE --out new.npz "$image"
  rejects $file export --weights FILE --out new.safetensors
  rejects $file export --weights FILE --onnx new.onnx
  rejects $file export "${cfg[@]}" --weights FILE --onnx new.onnx
  rejects $file quantize --weights FILE --out new.safetensors --calib data/val
  rejects $file summary "${cfg[@]}" --resume FILE
  rejects $file summary "${cfg[@]}" --pretrained FILE
  rejects $file bench "${cfg[@]}" --pretrained FILE
  rejects $file bench "${cfg[@]}" --inference --weights FILE
  rejects $file profile "${run[@]}" --resume FILE
  rejects $file profile "${run[@]}" --pretrained FILE
  rejects $file report FILE --out new.html
done

finish
