#!/bin/bash
# Weights by name: found in the caches of the Hugging Face hub and of torch.hub, and images
# prepared as the weights need it; what is said if they are not there; fetched from a server.
#
#   tests/e2e/pretrained.sh [TRAINC]
set -u
trainc=$(realpath "${1:-./trainc}")
here=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d "${TMPDIR:-/tmp}/trainc-pretrained.XXXXXX")
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fails=0
unset HF_HUB_CACHE TORCH_HOME XDG_CACHE_HOME TIMM_USE_OLD_CACHE
export HOME=$dir/home HF_HOME=$dir/hf TRAINC=$trainc

fail() { echo "FAILED: $*"; tail -3 log; fails=$((fails + 1)); }
told() { # PATTERN, of what failed with code 2
  [ $? = 2 ] && grep -q -e "$1" log || fail "not told: $1"
}

"$trainc" synth shapes --out shapes --classes 3 --train 6 --val 3 --size 32 2>/dev/null || exit 1
"$trainc" --model test_resnet --data-path shapes --device cpu --output out --epochs 1 -b 4 --num-classes 3 \
  --img-size 32 --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 || { cat log; exit 1; }
"$trainc" export --weights out/test_resnet/default/last.safetensors --out w.safetensors >log 2>&1 || exit 1

# The hub's cache: refs/main names the commit.
name=test_resnet.r160_in1k
hub=$HF_HOME/hub/models--timm--$name
predict=("$trainc" predict --device cpu --num-classes 3 --pretrained)
"${predict[@]}" $name shapes/val >log 2>&1
told "the weights $name are in no cache: https://huggingface.co/timm/$name/resolve/main/model.safetensors goes to '$hub/snapshots/main/model.safetensors' (scripts/fetch_weights.sh $name)"
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
"${predict[@]}" hf-hub:timm/$name@v2 shapes/val >log 2>&1
told "snapshots/main\|are in no cache"
cp w.safetensors "$hub/snapshots/v2/model.safetensors"
"${predict[@]}" hf-hub:timm/$name@v2 shapes/val 2>log | cmp -s - by_file || fail "predict of a revision"
"$trainc" --model test_resnet --data-path shapes --device cpu --output no --num-classes 3 \
  --pretrained "$(find shapes/val -type f | head -1)" >log 2>&1
told "MODEL.PRETRAINED: 'shapes/val/.*': no weights: a JPEG image"
[ ! -e no ] || fail "what is no file of weights is told after there is an output"
"${predict[@]}" $name shapes/val --json a --csv a >log 2>&1
told "--csv: 'a' is the file of --json"
mkdir -p "$HF_HOME/hub/models--me--net/snapshots/main"
cp w.safetensors "$HF_HOME/hub/models--me--net/snapshots/main/"
mv "$HF_HOME/hub/models--me--net/snapshots/main/"{w,model}.safetensors
"${predict[@]}" hf-hub:me/net --model test_resnet shapes/val >log 2>&1 || fail "another owner's weights"

# What config.json says of them.
told1() { [ $? = 2 ] && grep -q -e "config.json': $1" log || fail "not told: $1"; }
hub_config() { echo "$1" >"$HF_HOME/hub/models--me--net/snapshots/main/config.json"; }
images='"input_size": [3, 160, 160], "interpolation": "bilinear", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]'
other=("$trainc" predict --device cpu --pretrained hf-hub:me/net)
hub_config '{"architecture": "test_resnet", "num_classes": 3, "pretrained_cfg": {'"$images"', "crop_pct": 0.95}}'
"${other[@]}" shapes/val 2>log | cmp -s - by_file || fail "config.json: predict"
cp -r "$HF_HOME/hub/models--me--net/snapshots/main" local
"$trainc" predict --device cpu --pretrained local-dir:local shapes/val 2>log | cmp -s - by_file || fail "local-dir"
"$trainc" config --pretrained hf-hub:me/net --crop-pct 0.5 >log 2>&1
grep -q "CROP_PCT: 0.5  # --crop-pct" log && grep -q "INTERPOLATION: bilinear  # MODEL.PRETRAINED hf-hub:me/net" log &&
  grep -q "NAME: test_resnet  # MODEL.PRETRAINED hf-hub:me/net" log || fail "config.json: origins"
"$trainc" --pretrained hf-hub:me/net --data-path shapes --device cpu --output other --epochs 1 -b 4 --img-size 32 \
  --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 && grep -q "tensors loaded" log || fail "config.json: training"
"$trainc" predict --device cpu --pretrained local-dir:shapes shapes/val >log 2>&1
told "the folder 'shapes' has no weights: model.safetensors, pytorch_model.bin"
hub_config '{"architecture": "test_resnet", "num_classes": 3, "pretrained_cfg": {"interpolation": "lanczos"}}'
"${other[@]}" shapes/val >log 2>&1
told1 "\"interpolation\" is neither bicubic nor bilinear"
hub_config '{"architecture": "test_resnet", "pretrained_cfg": {"mean": [1, "x"]}}'
"${other[@]}" shapes/val >log 2>&1
told1 "\"mean\" is no list of numbers"
hub_config '{"model_type": "bert"}'
"${other[@]}" shapes/val >log 2>&1
told1 "\"architecture\" is not there: name the net with --model"
hub_config '{"architecture": "resnet51", "num_classes": 3}'
"${other[@]}" shapes/val >log 2>&1
told1 "\"architecture\" is 'resnet51', and there is no such model"
hub_config '{"architecture": '
"${other[@]}" shapes/val >log 2>&1
[ $? = 2 ] && grep -q "config.json': " log || fail "config.json: damaged"
rm "$HF_HOME/hub/models--me--net/snapshots/main/config.json"

# Keys set by the user stay; the origin of others is named; training starts from the weights.
"$trainc" config --pretrained $name --crop-pct 0.5 >log 2>&1
grep -q "CROP_PCT: 0.5  # --crop-pct" log && grep -q "MEAN: \[0.5, 0.5, 0.5\]  # MODEL.PRETRAINED $name" log ||
  fail "config: origins"
"$trainc" --pretrained $name --data-path shapes --device cpu --output tuned --epochs 1 -b 4 --img-size 32 \
  --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 && grep -q "pretrained '.*0123abc/model.safetensors': .* tensors loaded" log ||
  fail "training from weights by name"
"$trainc" models --cached >log 2>&1
[ "$(grep -c "cached$" log)" = 1 ] && grep -q "^$name .*41.602  67.984 .*cached" log || fail "models --cached"
"$trainc" models --pretrained 'resnet50.a?_in1k' >log 2>&1
[ "$(grep -c "^resnet50.a[123m]_in1k " log)" = 4 ] && [ "$(wc -l <log)" = 5 ] || fail "models --pretrained GLOB"

# Mistakes.
"${predict[@]}" resnet50.a9_in1k shapes/val >log 2>&1
told "did you mean resnet50.a1_in1k?"
"${predict[@]}" resnet50 --model resnet18 shapes/val >log 2>&1
told "these weights are of resnet50, and MODEL.NAME is resnet18"
"$trainc" predict --weights resnet50.a1_in1k shapes/val >log 2>&1
told "no file 'resnet50.a1_in1k' (--pretrained resnet50.a1_in1k)"

# torch.hub's cache: the hash in the name is checked.
torch=$HOME/.cache/torch/hub/checkpoints
mkdir -p "$torch"
echo damaged >"$torch/resnet18-f37072fd.pth"
"${predict[@]}" resnet18.tv_in1k shapes/val >log 2>&1
[ $? = 1 ] && grep -q "is damaged: its SHA-256 begins with" log || fail "a damaged file in the cache"
rm "$torch/resnet18-f37072fd.pth"

# Fetching, from a server that has the files under the paths of their URLs.
rm -r "$hub"
mkdir -p site/timm/$name/resolve/main site/models
cp w.safetensors site/timm/$name/resolve/main/model.safetensors
echo damaged >site/models/resnet18-f37072fd.pth
if command -v python3 >/dev/null; then
  (cd site && exec python3 -u -m http.server --bind 127.0.0.1 0) >served 2>&1 &
  server=$!
  for _ in $(seq 100); do
    port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' served)
    [ -z "$port" ] || break
    sleep 0.1
  done
  export MIRROR=http://127.0.0.1:$port
else
  export MIRROR=file://$dir/site
fi
"$here/scripts/fetch_weights.sh" $name >log 2>&1 && grep -q "snapshots/main/model.safetensors" log || fail "fetching"
"${predict[@]}" $name shapes/val 2>log | cmp -s - by_file || fail "predict with what was fetched"
"$here/scripts/fetch_weights.sh" $name >log 2>&1 && grep -q "already there" log || fail "fetching twice"
"$here/scripts/fetch_weights.sh" resnet18.tv_in1k >log 2>&1
[ $? = 1 ] && grep -q "is damaged: SHA-256 begins with" log || fail "fetching a damaged file"
[ -z "$(ls "$torch")" ] || fail "a damaged file stays"
"$here/scripts/fetch_weights.sh" resnet34.tv_in1k >log 2>&1
[ $? = 1 ] && grep -q "cannot fetch" log || fail "fetching what is not there"
rm -r "$HF_HOME/hub/models--me--net"
mkdir -p site/me/net/resolve/main
cp local/* site/me/net/resolve/main/
"${other[@]}" shapes/val >log 2>&1
told "the weights 'hf-hub:me/net' are in no cache: .*(scripts/fetch_weights.sh hf-hub:me/net)"
"$here/scripts/fetch_weights.sh" hf-hub:me/net >log 2>&1 || fail "fetching another owner's weights"
"${other[@]}" shapes/val 2>log | cmp -s - by_file || fail "predict with another owner's weights"
"$here/scripts/fetch_weights.sh" 'resnet18.*' >log 2>&1
told "means several weights"

[ $fails = 0 ]
