#!/bin/bash
# Weights for ImageNet-1k give its class names in every output; DATA.CLASS_NAMES and config.json
# replace them.
#
#   tests/e2e/pretrained_classes.sh [TRAINC]
. "$(dirname "$0")/pretrained.bash"

cache_weights
cat >bare.py <<'EOF'
"""bare.py IN OUT [CLASSES]: without metadata, and with a classifier of that many rows; 0: without one."""
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, body, out = json.loads(data[8 : 8 + size]), data[8 + size :], b""
header.pop("__metadata__", None)
if sys.argv[3:] == ["0"]:
    header = {k: t for k, t in header.items() if not k.startswith("fc.")}
for name, t in header.items():
    part = body[t["data_offsets"][0] : t["data_offsets"][1]]
    if len(sys.argv) > 3 and name.startswith("fc."):
        row = len(part) // t["shape"][0]
        part, t["shape"][0] = part[:row] * int(sys.argv[3]), int(sys.argv[3])
    t["data_offsets"] = [len(out), len(out) + len(part)]
    out += part
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + out)
EOF
python3 bare.py w.safetensors "$hub/snapshots/0123abc/model.safetensors" 1000 || fail "weights of 1000 classes"
image=$(find shapes/val -type f | head -1)
named=("$trainc" predict --device cpu --pretrained $name --topk all "$image")
"${named[@]}" --json answers.json --csv answers.csv >answers 2>log || fail "predict of 1000 classes"
for one in 0:tench 1:goldfish 134:"crane bird" 517:crane 639:"maillot tank suit" 999:"toilet tissue"; do
  tr '{' '\n' <answers.json | grep -q "\"index\": *${one%%:*}, *\"class\": *\"${one#*:}\"" || fail "the name of class $one"
  grep -q "[:,] ${one#*:} 0\.[0-9]*" answers && grep -q ",${one#*:}," answers.csv || fail "the name of class $one: lines, CSV"
done
"$trainc" export --pretrained $name --onnx named.onnx >log 2>&1 && grep -aq '"tench","goldfish",' named.onnx || fail "names in ONNX"
"$trainc" quantize --device cpu --pretrained $name --calib shapes/val --out named.safetensors >log 2>&1 &&
  "$trainc" predict --device cpu --weights named.safetensors --topk all "$image" 2>log | grep -q " tench 0" || fail "names in 8 bits"
printf "thing %s\n" $(seq 1000) | sed 's/.*/"&"/' | paste -sd, >things
"${named[@]}" --opts DATA.CLASS_NAMES "[$(cat things)]" 2>log | grep -q " thing 1000 0" || fail "DATA.CLASS_NAMES come first"
mkdir labels && python3 bare.py w.safetensors labels/model.safetensors
echo '{"architecture": "test_resnet", "num_classes": 3, "label_names": ["ant", "bee", "cow"]}' >labels/config.json
"$trainc" predict --device cpu --pretrained local-dir:labels "$image" >answers 2>log && cat answers >>log
expect_line "ant 0.*\|bee 0" answers
echo '{"architecture": "test_resnet", "num_classes": 3, "label_names": ["ant", "bee", 7]}' >labels/config.json
"$trainc" predict --device cpu --pretrained local-dir:labels "$image" 2>log | grep -q "ant" && fail "config.json: label_names that are none"

# A file without a classifier, as timm.create_model(num_classes=0) writes it: training starts one, nothing else can use it.
python3 bare.py w.safetensors headless.safetensors 0
"$trainc" --model test_resnet --data-path shapes --device cpu --output out --epochs 1 -b 4 --img-size 32 --tag headless \
  --pretrained headless.safetensors >log 2>&1 || fail "training from a file without a classifier"
expect_line "^pretrained 'headless.safetensors': [0-9]* tensors loaded; the classifier is reinitialized$"
exits 1 "first: fc.weight: not in the file" "$trainc" predict --device cpu --model test_resnet --num-classes 3 \
  --weights headless.safetensors "$image"

finish
