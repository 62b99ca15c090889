#!/bin/bash
# Weights by name: trainc finds them in the caches of huggingface_hub and torch.hub and prepares
# images as they require. If they are missing and downloads are disabled, the message says so
# (download.sh tests downloads).
#
#   tests/e2e/pretrained.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE TORCH_HOME XDG_CACHE_HOME TIMM_USE_OLD_CACHE HF_ENDPOINT TRAINC_MIRROR
export HOME=$dir/home HF_HOME=$dir/hf HF_HUB_OFFLINE=1

"$trainc" synth shapes --out shapes --classes 3 --train 6 --val 3 --size 32 2>/dev/null || exit 1
"$trainc" --model test_resnet --data-path shapes --device cpu --output out --epochs 1 -b 4 --num-classes 3 \
  --img-size 32 --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 || { fail "train"; finish; }
"$trainc" export --weights out/test_resnet/default/last.safetensors --out w.safetensors >log 2>&1 || { fail "export"; finish; }

# The cache of the Hugging Face Hub: refs/main contains the commit.
name=test_resnet.r160_in1k
hub=$HF_HOME/hub/models--timm--$name
predict=("$trainc" predict --device cpu --num-classes 3 --pretrained)
refuses "the weights $name are not in any cache: download https://huggingface.co/timm/$name/resolve/main/model.safetensors and save it as '$hub/snapshots/main/model.safetensors' (not downloaded: HF_HUB_OFFLINE is set)" \
  "${predict[@]}" $name shapes/val
mkdir -p "$hub/refs" "$hub/snapshots/0123abc" "$hub/snapshots/v2"
printf 0123abc >"$hub/refs/main"
cp w.safetensors "$hub/snapshots/0123abc/model.safetensors"
"${predict[@]}" $name shapes/val >by_name 2>log || fail "predict by name"
"$trainc" predict --device cpu --model test_resnet --num-classes 3 --weights w.safetensors --img-size 160 \
  --crop-pct 0.95 --interpolation bilinear --opts DATA.MEAN "[0.5, 0.5, 0.5]" DATA.STD "[0.5, 0.5, 0.5]" -- \
  shapes/val >by_file 2>log || fail "predict by file"
cmp -s by_name by_file || fail "by name is not by file"
for other in test_resnet timm/$name hf-hub:timm/$name; do
  "${predict[@]}" $other shapes/val 2>log | cmp -s - by_file || fail "predict --pretrained $other"
done
"$trainc" predict --device cpu --num-classes 3 --model test_resnet shapes/val --pretrained 2>log | cmp -s - by_file ||
  fail "predict --pretrained without a value"
expect_line "^MODEL.PRETRAINED $name sets DATA.IMG_SIZE 160, DATA.CROP_PCT 0.95, DATA.INTERPOLATION bilinear, DATA.MEAN \[0.5, 0.5, 0.5\], DATA.STD"
"${predict[@]}" $name --crop-pct 0.5 shapes/val 2>log >/dev/null
expect_line "sets DATA.IMG_SIZE 160, DATA.INTERPOLATION"
refuses "resolve/v2/model.safetensors and save it as '$hub/snapshots/v2/model.safetensors'" \
  "${predict[@]}" hf-hub:timm/$name@v2 shapes/val
cp w.safetensors "$hub/snapshots/v2/model.safetensors"
"${predict[@]}" hf-hub:timm/$name@v2 shapes/val 2>log | cmp -s - by_file || fail "predict of a revision"
# Export by name: ONNX with its image preprocessing, and 8-bit weights.
"$trainc" export --pretrained $name --num-classes 3 --onnx by_name.onnx >log 2>&1 && grep -aq "\[0.5,0.5,0.5\]" by_name.onnx ||
  fail "export by name"
"$trainc" quantize --device cpu --num-classes 3 --pretrained $name --calib shapes/val --out q.safetensors >log 2>&1 &&
  "$trainc" predict --weights q.safetensors shapes/val >by_8_bits 2>log || fail "quantize by name"
cmp -s <(cut -d' ' -f1,2 by_8_bits) <(cut -d' ' -f1,2 by_file) || fail "quantize by name: other answers"
refuses "no checkpoint: give --weights FILE" "$trainc" export --pretrained $name --out out.safetensors
# A download by commit leaves no refs/main: a single snapshot is used, but not one of two.
rm -r "$hub/snapshots/v2" && mv "$hub/refs" refs
"${predict[@]}" $name shapes/val 2>log | cmp -s - by_file || fail "predict of the only snapshot"
cp -r "$hub/snapshots/0123abc" "$hub/snapshots/4567def"
refuses "are not in any cache" "${predict[@]}" $name shapes/val
rm -r "$hub/snapshots/4567def" && mv refs "$hub"
refuses "MODEL.PRETRAINED: 'shapes/val/.*': no weights: a JPEG image" \
  "$trainc" --model test_resnet --data-path shapes --device cpu --output no --num-classes 3 \
  --pretrained "$(find shapes/val -type f | head -1)"
[ ! -e no ] || fail "what is no file of weights is told after there is an output"
refuses "--csv: 'a' is also the file of --json" "${predict[@]}" $name shapes/val --json a --csv a
mkdir -p "$HF_HOME/hub/models--me--net/snapshots/main"
cp w.safetensors "$HF_HOME/hub/models--me--net/snapshots/main/"
mv "$HF_HOME/hub/models--me--net/snapshots/main/"{w,model}.safetensors
"${predict[@]}" hf-hub:me/net --model test_resnet shapes/val >log 2>&1 || fail "another owner's weights"

# Both libraries search several folders in order. trainc finds a file in each of them, and names
# the folder if the file is missing.
find_at() { # FOLDER NAME=VALUE...: folders are below $dir/places
  local path=$dir/places/$1
  shift
  rm -rf places
  env -u HF_HOME HOME="$dir/places/home" "$@" "$trainc" models --pretrained resnet18.tv_in1k >log 2>&1
  grep -q "^place  *$path$" log && grep -q "^cached *no$" log || fail "place: $path: $*"
  mkdir -p "$(dirname "$path")" && cp w.safetensors "$path"
  env -u HF_HOME HOME="$dir/places/home" "$@" "$trainc" models --pretrained resnet18.tv_in1k >log 2>&1
  grep -q "^cached  *$path$" log || fail "found: $path: $*"
}
in_hub=models--timm--resnet18.tv_in1k/snapshots/main/model.safetensors in_torch=hub/checkpoints/resnet18-f37072fd.pth
p=$dir/places
find_at a/$in_hub HF_HUB_CACHE="$p/a" HUGGINGFACE_HUB_CACHE="$p/b" HF_HOME="$p/c" XDG_CACHE_HOME="$p/d"
find_at b/$in_hub HUGGINGFACE_HUB_CACHE="$p/b" HF_HOME="$p/c" XDG_CACHE_HOME="$p/d"
find_at c/hub/$in_hub HF_HOME="$p/c" XDG_CACHE_HOME="$p/d"
find_at home/c/hub/$in_hub HF_HOME="~/c"
find_at d/huggingface/hub/$in_hub XDG_CACHE_HOME="$p/d"
find_at home/.cache/huggingface/hub/$in_hub HF_HOME=
find_at e/$in_torch TORCH_HOME="$p/e" XDG_CACHE_HOME="$p/d"
find_at d/torch/$in_torch XDG_CACHE_HOME="$p/d"
find_at home/.cache/torch/$in_torch TORCH_HOME=
cp -r places/home/.cache/torch . && find_at home/.cache/huggingface/hub/$in_hub TORCH_HOME= && cp -r torch places/home/.cache/
for old in "" 0 1; do # if both have the file, the first in search order wins
  env -u HF_HOME HOME="$p/home" TIMM_USE_OLD_CACHE=$old "$trainc" models --pretrained resnet18.tv_in1k >log 2>&1
  grep -q "^cached .*$([ "$old" = 1 ] && echo torch || echo huggingface)/" log || fail "TIMM_USE_OLD_CACHE=$old"
done

# Errors in config.json.
hub_config() { echo "$1" >"$HF_HOME/hub/models--me--net/snapshots/main/config.json"; }
images='"input_size": [3, 160, 160], "interpolation": "bilinear", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]'
other=("$trainc" predict --device cpu --pretrained hf-hub:me/net)
hub_config '{"architecture": "test_resnet", "num_classes": 3, "pretrained_cfg": {'"$images"', "crop_pct": 0.95}}'
"${other[@]}" shapes/val 2>log | cmp -s - by_file || fail "config.json: predict"
cp -r "$HF_HOME/hub/models--me--net/snapshots/main" local
"$trainc" predict --device cpu --pretrained local-dir:local shapes/val 2>log | cmp -s - by_file || fail "local-dir"
"$trainc" config --pretrained hf-hub:me/net --crop-pct 0.5 >log 2>&1
expect_line "CROP_PCT: 0.5  # --crop-pct"
expect_line "INTERPOLATION: bilinear  # MODEL.PRETRAINED hf-hub:me/net"
expect_line "NAME: test_resnet  # MODEL.PRETRAINED hf-hub:me/net"
"$trainc" --pretrained hf-hub:me/net --data-path shapes --device cpu --output other --epochs 1 -b 4 --img-size 32 \
  --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 && grep -q "tensors loaded" log || fail "config.json: training"
refuses "the folder 'shapes' has no weights: model.safetensors, or any .safetensors, .pth, .pth.tar or .bin" \
  "$trainc" predict --device cpu --pretrained local-dir:shapes shapes/val
refuses "folder 'nowhere' not found" "$trainc" predict --device cpu --pretrained local-dir:nowhere shapes/val
cp -r local other_name && mv other_name/model.safetensors other_name/net_7.safetensors && echo no >other_name/a.bin
"$trainc" predict --device cpu --pretrained local-dir:other_name shapes/val 2>log | cmp -s - by_file ||
  fail "local-dir: any name of a file"
hub_config '{"architecture": "test_resnet", "num_classes": 3, "pretrained_cfg": {"interpolation": "lanczos"}}'
refuses "config.json': \"interpolation\" is neither bicubic nor bilinear" "${other[@]}" shapes/val
hub_config '{"architecture": "test_resnet", "pretrained_cfg": {"mean": [1, "x"]}}'
refuses "config.json': \"mean\" is not a list of numbers" "${other[@]}" shapes/val
hub_config '{"model_type": "bert"}'
refuses "config.json': \"architecture\" is missing: set the model with --model" "${other[@]}" shapes/val
hub_config '{"architecture": "resnet51", "num_classes": 3}'
refuses "config.json': unknown \"architecture\" 'resnet51'" "${other[@]}" shapes/val
hub_config '{"architecture": '
refuses "config.json': " "${other[@]}" shapes/val
rm "$HF_HOME/hub/models--me--net/snapshots/main/config.json"

# Keys set by the user keep their values; the origin of the others is printed; training starts
# from the weights.
"$trainc" config --pretrained $name --crop-pct 0.5 >log 2>&1
grep -q "CROP_PCT: 0.5  # --crop-pct" log && grep -q "MEAN: \[0.5, 0.5, 0.5\]  # MODEL.PRETRAINED $name" log ||
  fail "config: origins"
"$trainc" --pretrained $name --data-path shapes --device cpu --output tuned --epochs 1 -b 4 --img-size 32 \
  --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 && grep -q "pretrained '.*0123abc/model.safetensors': .* tensors loaded" log ||
  fail "training from weights by name"
"$trainc" models --cached >log 2>&1
[ "$(grep -c "cached$" log)" = 1 ] && grep -q "^$name .*41.602  67.984 .*cached" log || fail "models --cached"
refuses "no public weights match 'nosuch'" "$trainc" models --cached nosuch
"$trainc" models --cached resnet101 >log 2>&1 && [ "$(wc -l <log)" = 1 ] || fail "models --cached of what is not there"
"$trainc" models --pretrained 'resnet50.a?_in1k' >log 2>&1
[ "$(grep -c "^resnet50.a[123m]_in1k " log)" = 4 ] && [ "$(wc -l <log)" = 5 ] || fail "models --pretrained GLOB"

# Deprecated names, and the name of a release file.
refuses "the weights resnet50.tv_in1k are not in any cache: .*/resnet50-0676ba61.pth' " "${predict[@]}" tv_resnet50 shapes/val
"$trainc" config --model gluon_resnet50_v1d --print-config=diff >log 2>&1
expect_line "NAME: resnet50d.gluon_in1k"
refuses "the weights resnet34.tv_in1k are not in any cache" \
  "$trainc" predict --device cpu --model tv_resnet34 shapes/val --pretrained
for one in tv_resnet50 resnet50.tv_in1k timm/resnet50.tv_in1k hf-hub:timm/resnet50.tv_in1k resnet50-0676ba61.pth; do
  "$trainc" models --pretrained $one >log 2>&1 && grep -q "^url .*/resnet50-0676ba61.pth" log || fail "models --pretrained $one"
done
"$trainc" models --pretrained 'resnet50.a?_in1k' --exclude '*m_in1k' >log 2>&1
[ "$(wc -l <log)" = 4 ] || fail "models --pretrained --exclude"
"$trainc" models 'resnet10*' --exclude '*d' >log 2>&1
[ "$(cut -d' ' -f1 log | tr '\n' ' ')" = "MODEL.NAME resnet10t resnet101 " ] || fail "models --exclude"

# Errors.
refuses "file 'resnet999' not found, and there are no public weights of that name" "${predict[@]}" resnet999 shapes/val
refuses "it names public weights: trainc models --pretrained resnet50.a1_in1k" "$trainc" models resnet50.a1_in1k
refuses "did you mean resnet50.a1_in1k?" "${predict[@]}" resnet50.a9_in1k shapes/val
refuses "these weights are for resnet50, but MODEL.NAME is resnet18" "${predict[@]}" resnet50 --model resnet18 shapes/val
refuses "no file 'resnet50.a1_in1k' (--pretrained resnet50.a1_in1k)" "$trainc" predict --weights resnet50.a1_in1k shapes/val

# torch.hub's cache: the checksum in the name is verified.
torch=$HOME/.cache/torch/hub/checkpoints
mkdir -p "$torch"
echo damaged >"$torch/resnet18-f37072fd.pth"
exits 1 "is damaged: its SHA-256 starts with" "${predict[@]}" resnet18.tv_in1k shapes/val
rm "$torch/resnet18-f37072fd.pth"

# Weights for ImageNet-1k give its class names in every output.
cat >bare.py <<'EOF'
"""bare.py IN OUT [CLASSES]: without metadata, and with a classifier of that many rows."""
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, body, out = json.loads(data[8 : 8 + size]), data[8 + size :], b""
header.pop("__metadata__", None)
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

finish
