#!/bin/sh
# Compares the loader with torchvision on the same folder with one thread each, alternating;
# prints the medians of images per second and core, and the ratios.
#
#   loader.sh DATA [ROUNDS] [FLAG...]     DATA/train/CLASS/*.jpg; FLAGs go to trainc
#
# scripts/bench/loader_photos.py makes such a folder. PYTHON is a Python with torchvision.
set -eu
data=${1:?usage: loader.sh DATA [ROUNDS] [FLAG...]}
rounds=${2:-5}
shift; [ $# -eq 0 ] || shift
here=$(dirname "$0")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for round in $(seq "$rounds"); do
    "${TRAINC:-./trainc}" bench --loader --data-path "$data" --json "$out/json" --workers 1 \
        --interpolation bilinear --aa none --reprob 0 --color-jitter 0 "$@"
    sed -n 's/.*per_core": *\([0-9.]*\).*/trainc \1/p' "$out/json" >>"$out/all"
    "${PYTHON:-python3}" "$here/loader_torchvision.py" "$data" | tee -a "$out/all"
done

median() { sed -n "s/^$1 //p" "$out/all" | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
trainc=$(median trainc)
echo "medians of $rounds rounds, images per second and core"
echo "trainc ${trainc%.*}"
for peer in pillow torchvision; do
    peer_rate=$(median $peer)
    echo "$peer $peer_rate: ratio $(echo "$trainc $peer_rate" | awk '{ printf "%.2f", $1 / $2 }')"
done
