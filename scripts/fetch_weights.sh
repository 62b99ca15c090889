#!/bin/bash
# Fetches public weights by name into the cache where trainc, timm and torch.hub look:
#
#   scripts/fetch_weights.sh resnet50.a1_in1k
#   scripts/fetch_weights.sh hf-hub:OWNER/NAME[@REVISION]
#                 with its config.json, which says what it is
#
#   TRAINC=FILE   the binary that knows names and places (./trainc)
#   MIRROR=URL    a server with the same paths in place of https://HOST
#
# The SHA-256 that begins in a file's name is checked, or of the Hugging Face hub's files the
# one that the server tells (X-Linked-ETag); a file without one is said to be unchecked.
# What was fetched appears whole or not at all; the hub's lie as its own library has them, by
# commit, with the revision in refs/.
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
mapfile -t urls < <(sed -n 's/^url *//p' <<<"$known")
mapfile -t places < <(sed -n 's/^place *//p' <<<"$known")
case $1 in hf-hub:*) # others may have an older kind of file alone
  urls+=("${urls[-1]%/*}/pytorch_model.bin") places+=("${places[-1]%/*}/pytorch_model.bin") ;;
esac

header() { # NAME PATTERN: the last value of that form
  tr -d '\r"' <"$part.head" | sed -n "s/^$1: *\($2\)\$/\1/Ip" | tail -1
}

part=
trap 'rm -f "$part" "$part.head"' EXIT
for i in "${!urls[@]}" none; do
  [ $i != none ] || exit 1
  url=${urls[i]} place=${places[i]} from=${urls[i]}
  [ -z "${MIRROR:-}" ] || from=$MIRROR/${url#https://*/}
  mkdir -p "$(dirname "$place")" || exit 1
  rm -f "$part" "$part.head"
  part=$place.part
  curl --fail --location --silent --show-error --retry 3 --dump-header "$part.head" --output "$part" "$from" && break
  echo "scripts/fetch_weights.sh: cannot fetch $from" >&2
  rmdir "$(dirname "$place")" 2>/dev/null
done

want=$(basename "$place" | sed -n 's/.*-\([0-9a-f]\{8,64\}\)\.[a-z]*$/\1/p')
[ -n "$want" ] || want=$(header x-linked-etag '[0-9a-f]\{64\}')
sum=$(sha256sum "$part" | cut -d' ' -f1)
if [ -z "$want" ]; then
  echo "unchecked, as no checksum is known: SHA-256 is $sum"
elif [ "${sum:0:${#want}}" != "$want" ]; then
  echo "scripts/fetch_weights.sh: $from is damaged: SHA-256 begins with ${sum:0:${#want}}, not $want" >&2
  exit 1
fi

if [ "$place" != "${place%/snapshots/*}" ]; then
  top=${place%/snapshots/*} file=${place##*/} revision=${url#*/resolve/}
  revision=${revision%/*}
  commit=$(header x-repo-commit '[0-9a-f]\{40\}')
  commit=${commit:-$revision}
  [ ${#revision} = 40 ] || # a commit needs no ref
    { mkdir -p "$(dirname "$top/refs/$revision")" && printf %s "$commit" >"$top/refs/$revision"; } || exit 1
  place=$top/snapshots/$commit/$file
  mkdir -p "${place%/*}" || exit 1
fi
case $1 in hf-hub:*)
  curl --fail --location --silent --retry 3 --output "$part.head" "${from%/*}/config.json" &&
    mv "$part.head" "${place%/*}/config.json" ||
    echo "it has no config.json: name the net with --model" ;;
esac
mv "$part" "$place" || exit 1
rmdir "$(dirname "$part")" 2>/dev/null
echo "$place"
