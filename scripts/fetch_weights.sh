#!/bin/bash
# Fetches public weights by name into the cache where trainc, timm and torch.hub look:
#
#   scripts/fetch_weights.sh resnet50.a1_in1k
#   scripts/fetch_weights.sh hf-hub:OWNER/NAME      with its config.json, which says what it is
#
#   TRAINC=FILE   the binary that knows names and places (./trainc)
#   MIRROR=URL    a server with the same paths in place of https://HOST
#
# The SHA-256 that begins in a file's name is checked, or of the Hugging Face hub's files the
# one that the server tells (X-Linked-ETag); a file without one is said to be unchecked.
# What was fetched appears whole or not at all.
set -u
trainc=${TRAINC:-$(dirname "$0")/../trainc}
[ $# = 1 ] || { echo "usage: scripts/fetch_weights.sh NAME" >&2; exit 2; }
known=$("$trainc" models --pretrained "$1") || exit 2
[ "$(grep -c '^url ' <<<"$known")" -gt 0 ] || {
  echo "scripts/fetch_weights.sh: '$1' means several weights: name one of" >&2
  awk 'NR > 1 {print "  " $1}' <<<"$known" >&2
  exit 2
}
cached=$(sed -n 's/^cached *//p' <<<"$known")
[ "$cached" = no ] || { echo "already there: $cached"; exit 0; }
url=$(sed -n 's/^url *//p' <<<"$known" | head -1)
place=$(sed -n 's/^place *//p' <<<"$known" | head -1)
from=$url
[ -z "${MIRROR:-}" ] || from=$MIRROR/${url#https://*/}

mkdir -p "$(dirname "$place")" || exit 1
part=$place.part
trap 'rm -f "$part" "$part.head"' EXIT
curl --fail --location --silent --show-error --retry 3 --dump-header "$part.head" \
  --output "$part" "$from" || { echo "scripts/fetch_weights.sh: cannot fetch $from" >&2; exit 1; }

want=$(basename "$place" | sed -n 's/.*-\([0-9a-f]\{8,64\}\)\.[a-z]*$/\1/p')
[ -n "$want" ] || want=$(tr -d '\r"' <"$part.head" | sed -n 's/^[Xx]-[Ll]inked-[Ee][Tt]ag: *\([0-9a-f]\{64\}\)$/\1/p' | tail -1)
sum=$(sha256sum "$part" | cut -d' ' -f1)
if [ -z "$want" ]; then
  echo "unchecked, as no checksum is known: SHA-256 is $sum"
elif [ "${sum:0:${#want}}" != "$want" ]; then
  echo "scripts/fetch_weights.sh: $from is damaged: SHA-256 begins with ${sum:0:${#want}}, not $want" >&2
  exit 1
fi
case $1 in hf-hub:*)
  curl --fail --location --silent --retry 3 --output "$part.head" "${from%/*}/config.json" &&
    mv "$part.head" "$(dirname "$place")/config.json" ||
    echo "it has no config.json: name the net with --model" ;;
esac
mv "$part" "$place" || exit 1
echo "$place"
