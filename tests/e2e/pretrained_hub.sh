#!/bin/bash
# The config.json of a Hub repository or of a local folder defines model and preprocessing; its
# errors.
#
#   tests/e2e/pretrained_hub.sh [TRAINC]
. "$(dirname "$0")/pretrained.bash"

predict_by_file
mkdir -p "$HF_HOME/hub/models--me--net/snapshots/main"
cp w.safetensors "$HF_HOME/hub/models--me--net/snapshots/main/model.safetensors"
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

finish
