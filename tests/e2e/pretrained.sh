#!/bin/bash
# Weights by name: trainc finds them in the caches of huggingface_hub and torch.hub and prepares
# images as they require. If they are missing and downloads are disabled, the message says so
# (download.sh tests downloads).
#
#   tests/e2e/pretrained.sh [TRAINC]
. "$(dirname "$0")/pretrained.bash"

refuses "the weights $name are not in any cache: download https://huggingface.co/timm/$name/resolve/main/model.safetensors and save it as '$hub/snapshots/main/model.safetensors' (not downloaded: HF_HUB_OFFLINE is set)" \
  "${predict[@]}" $name shapes/val
cache_weights
"${predict[@]}" $name shapes/val >by_name 2>log || fail "predict by name"
predict_by_file
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
[ ! -e no ] || fail "a file without weights is rejected only after output is written"
refuses "--csv: 'a' is also the file of --json" "${predict[@]}" $name shapes/val --json a --csv a
mkdir -p "$HF_HOME/hub/models--me--net/snapshots/main"
cp w.safetensors "$HF_HOME/hub/models--me--net/snapshots/main/"
mv "$HF_HOME/hub/models--me--net/snapshots/main/"{w,model}.safetensors
"${predict[@]}" hf-hub:me/net --model test_resnet shapes/val >log 2>&1 || fail "another owner's weights"

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
"$trainc" models 'resnet10*' --exclude '*[cds]' >log 2>&1
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

finish
