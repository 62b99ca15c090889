#!/bin/bash
# Verbs download weights after all other checks, once, also with several ranks; config.json, which
# names the model, comes first.
#
#   tests/e2e/download_verbs.sh [TRAINC]
. "$(dirname "$0")/download.bash"

# Downloads start only after all other checks. config.json, which names the model, comes first.
"$trainc" synth shapes --out shapes --classes 3 --train 6 --val 3 --size 32 2>/dev/null || exit 1
run=("$trainc" --data-path shapes --device cpu --epochs 1 -b 2 --img-size 32 --num-classes 3)
"${run[@]}" --model test_resnet --output run1 TRAIN.WARMUP_EPOCHS=0 >log 2>&1 &&
  "$trainc" export --weights run1/test_resnet/default/last.safetensors --out w.safetensors >log 2>&1 || fail "training"
cp w.safetensors $file && cp w.safetensors site/me/net/model.safetensors
echo '{"architecture": "test_resnet", "num_classes": 3, "pretrained_cfg": {"input_size": [3, 64, 64]}}' >site/me/net/config.json
predict=("$trainc" predict --device cpu)
"${predict[@]}" --model test_resnet --num-classes 3 --weights w.safetensors --img-size 64 shapes/val >right 2>log || fail "predict"
fresh redirect
"${predict[@]}" --pretrained hf-hub:me/net shapes/val >answers 2>log && cmp -s answers right || fail "predict of a repository"
there=hf/hub/models--me--net/snapshots/$commit
[ -e $there/config.json ] && [ -e $there/model.safetensors ] && asked "hub HEAD" 2 || fail "config.json and weights of a repository"
"${predict[@]}" --pretrained hf-hub:me/net shapes/val --offline 2>log | cmp -s - right && asked HEAD 2 || fail "predict once more, offline"
fresh
fetch hf-hub:me/net && [ -e $there/config.json ] && grep -q "$there/model.safetensors$" out || fail "models --download of a repository"
fresh
mv site/me/net/model.safetensors site/me/net/pytorch_model.bin
fetch hf-hub:me/net && grep -q "$there/pytorch_model.bin$" out || fail "an older kind of file"
fresh
"${predict[@]}" --pretrained hf-hub:me/net --topk 0 shapes/val >log 2>&1
[ $? = 2 ] && asked "GET.*model" 0 || fail "downloaded in spite of a mistake"
fresh
"${run[@]}" --output run2 --pretrained $name TRAIN.WARMUP_EPOCHS=0 >log 2>&1 && grep -q "tensors loaded" log && asked GET 1 || fail "train"
"$trainc" eval --data-path shapes --device cpu --num-classes 3 --pretrained $name >log 2>&1 && asked GET 1 || fail "eval"
fresh status=404
"${run[@]}" --output run3 --pretrained $name --result result.json >log 2>&1
[ $? = 1 ] && [ ! -e run3 ] && [ "$(json_value result.json exit)" = 1 ] && grep -q "HTTP status 404" result.json || fail "train without weights"
fresh status=404
"${run[@]}" --output run3 --model test_resnet --teacher $name LOSSES="[{type: cross_entropy}, {type: distill}]" >log 2>&1
[ $? = 1 ] && expect_line "MODEL.TEACHER: cannot download the weights $name" || fail "a teacher without weights"
if command -v mpirun >/dev/null; then
  fresh slow
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 "${run[@]}" --output run4 \
    --pretrained $name TRAIN.WARMUP_EPOCHS=0 >log 2>&1 && asked GET 1 || fail "two ranks"
else
  echo "two ranks: skipped, as mpirun is not installed"
fi

finish
