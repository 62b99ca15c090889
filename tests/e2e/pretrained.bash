# Shared code of the scripts pretrained*.sh; they source it:
#
#   . "$(dirname "$0")/pretrained.bash"
#
# It sources lib.bash, makes the data set `shapes`, and trains test_resnet on it: w.safetensors are
# its weights, and $name and $hub the public weights whose place they take, and their folder in
# the cache of the Hugging Face Hub.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE TORCH_HOME XDG_CACHE_HOME TIMM_USE_OLD_CACHE HF_ENDPOINT TRAINC_MIRROR
export HOME=$dir/home HF_HOME=$dir/hf HF_HUB_OFFLINE=1

"$trainc" synth shapes --out shapes --classes 3 --train 6 --val 3 --size 32 2>/dev/null || exit 1
"$trainc" --model test_resnet --data-path shapes --device cpu --output out --epochs 1 -b 4 --num-classes 3 \
  --img-size 32 --opts TRAIN.WARMUP_EPOCHS 0 >log 2>&1 || { fail "train"; finish; }
"$trainc" export --weights out/test_resnet/default/last.safetensors --out w.safetensors >log 2>&1 || { fail "export"; finish; }

name=test_resnet.r160_in1k
hub=$HF_HOME/hub/models--timm--$name
predict=("$trainc" predict --device cpu --num-classes 3 --pretrained)
# Puts the weights into the cache; refs/main contains the commit.
cache_weights() {
  mkdir -p "$hub/refs" "$hub/snapshots/0123abc" "$hub/snapshots/v2"
  printf 0123abc >"$hub/refs/main"
  cp w.safetensors "$hub/snapshots/0123abc/model.safetensors"
}
# Predicts the validation images from the file, with the image preprocessing of $name.
predict_by_file() {
  "$trainc" predict --device cpu --model test_resnet --num-classes 3 --weights w.safetensors --img-size 160 \
    --crop-pct 0.95 --interpolation bilinear --opts DATA.MEAN "[0.5, 0.5, 0.5]" DATA.STD "[0.5, 0.5, 0.5]" -- \
    shapes/val >by_file 2>log || fail "predict by file"
}
