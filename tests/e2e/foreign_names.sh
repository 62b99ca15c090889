#!/bin/bash
# Weights with another project's tensor names (akamaster's CIFAR ResNet-20, in a wrapper): predict
# loads them, export writes trainc's names, a teacher may use them, and the error for a file that
# does not fit names the model it resembles.
#
#   tests/e2e/foreign_names.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

tensors() { # FILE: prints name, type, shape, and checksum of each tensor
  python3 - "$1" <<'P'
import hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
for name, t in sorted(json.loads(data[8:8 + n]).items()):
    if name != "__metadata__":
        a, b = t["data_offsets"]
        print(name, t["dtype"], t["shape"], hashlib.md5(data[8 + n + a:8 + n + b]).hexdigest())
P
}

"$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --opts LOG.REPORT=False >log 2>&1 || { fail "train"; finish; }
"$trainc" export --weights out/resnet20/default/last.safetensors --out own.safetensors >log 2>&1 || { fail "export"; finish; }
python3 - <<'P'
import json, struct
data = open("own.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8 + n])
head.pop("__metadata__", None)
text = json.dumps({"module." + k.replace("fc.", "linear."): v for k, v in head.items()}).encode()
text += b" " * (-len(text) % 8)
open("foreign.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + n:])
P
"$trainc" synth shapes --size 32 --classes 2 --train 2 --val 2 --out images >log 2>&1 || { fail "synth"; finish; }
image=$(ls images/val/*/* | head -1)
net=(--model resnet20 --num-classes 4 --img-size 32 --mean 0.5 0.5 0.5 --std 0.25 0.25 0.25 --crop-pct 1 --no-amp)
for file in own foreign; do
  "$trainc" predict "${net[@]}" --weights $file.safetensors "$image" --probabilities --csv - >$file.csv 2>$file.log || { cat $file.log; fail "predict by $file"; }
done
probabilities() { awk -F, 'END { print $(NF - 3), $(NF - 2), $(NF - 1), $NF }' "$1"; }
[ "$(probabilities own.csv)" = "$(probabilities foreign.csv)" ] || fail "$(probabilities own.csv) and $(probabilities foreign.csv)"
"$trainc" export --weights foreign.safetensors --out back.safetensors >log 2>&1 || fail "export"
expect_line "renaming the tensors from CIFAR ResNets to resnet20"
cmp -s <(tensors own.safetensors) <(tensors back.safetensors) || { diff <(tensors own.safetensors) <(tensors back.safetensors) | head; fail "export has other tensors"; }
exits 1 "does not match resnet32: .*the file looks like resnet20" \
  "$trainc" predict --model resnet32 --num-classes 4 --img-size 32 --weights foreign.safetensors "$image"
"$trainc" --model gmlp_ti16_224 --data-path images --img-size 32 --max-steps 1 -b 2 --no-amp --output mixer >log 2>&1 || fail "gMLP"
exits 1 "gmlp_ti16_224 fits one size of images: DATA.IMG_SIZE" \
  "$trainc" predict --model gmlp_ti16_224 --num-classes 2 --img-size 64 --weights mixer/gmlp_ti16_224/default/last.safetensors "$image"
"$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output taught --epochs 1 --opts LOG.REPORT=False \
  LOSSES "[{type: cross_entropy}, {type: distill}]" MODEL.TEACHER foreign.safetensors >log 2>&1 || fail "a teacher"

finish
