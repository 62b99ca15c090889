#!/bin/bash
# Weights by name are searched in the folders, and in the order, of huggingface_hub and torch.hub.
#
#   tests/e2e/pretrained_places.sh [TRAINC]
. "$(dirname "$0")/pretrained.bash"

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

finish
