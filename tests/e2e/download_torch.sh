#!/bin/bash
# Downloads weights into the cache of torch.hub, where the name of a file may contain its checksum.
#
#   tests/e2e/download_torch.sh [TRAINC]
. "$(dirname "$0")/download.bash"

# Files from the table, stored as torch.hub does. The name contains the checksum of this text.
torch=home/.cache/torch/hub/checkpoints
path=rwightman/pytorch-image-models/releases/download/v0.1-weights
other=resnet101d.ra2_in1k there=$torch/resnet101d_ra2-2803ffab.pth
mkdir -p site/$path
printf "weights 18373626" >site/$path/resnet101d_ra2-2803ffab.pth
fresh
fetch $other && [ "$(cat out)" = "$dir/$there" ] && [ "$(cat "$there")" = "weights 18373626" ] || fail "torch.hub's cache"
expect_line "status 404.*; using another file with the same weights"
[ "$(ls $torch)" = "$(basename "$there")" ] || fail "torch.hub's cache: other files: $(ls $torch)"
mkdir -p site/timm/$other && cp $file site/timm/$other/
fresh
fetch $other && grep -q "models--timm--$other/snapshots/$commit/model.safetensors$" out || fail "the hub comes first"
fresh
TIMM_USE_OLD_CACHE=1 fetch $other && [ -e $there ] && asked ^hub 0 || fail "TIMM_USE_OLD_CACHE"
fresh cut=5
TIMM_USE_OLD_CACHE=1 fetch $other && [ "$(cat "$there")" = "weights 18373626" ] && asked "Range=bytes=5-" 1 || fail "torch.hub: cut"
rm -r site/timm/$other
fresh
printf "weights 18373627" >site/$path/resnet101d_ra2-2803ffab.pth
fetch $other
[ $? = 1 ] && expect_line "cannot download the weights $other: .* status 404" || fail "torch.hub: a wrong checksum"
gone "torch.hub: a wrong checksum"
TIMM_USE_OLD_CACHE=1 fetch $other
[ $? = 1 ] && expect_line "what the server sends is damaged: its SHA-256 begins with ........, not 2803ffab" || fail "torch.hub: a wrong checksum"

# Without a checksum, the ETag decides if a partial file belongs to this file.
swin=swin_tiny_patch4_window7_224.ms_in1k
url=$("$trainc" models --pretrained $swin | sed -n 's/^url *//p' | head -1)
big=site/${url#http://*/} part=$torch/$(basename "$url").partial
mkdir -p "$(dirname "$big")" && cp $file "$big"
cut_off() { # MODE: leaves a partial file
  fresh "stall=1000000 times=1 $1"
  HF_HUB_DOWNLOAD_TIMEOUT=20 TIMM_USE_OLD_CACHE=1 "$trainc" models --pretrained $swin --download >out 2>log &
  for _ in {1..200}; do
    [ "$(stat -c %s "$part" 2>/dev/null)" = 1000000 ] && break
    sleep 0.05
  done
  kill -KILL $! && wait $! 2>/dev/null
  [ "$(stat -c %s "$part" 2>/dev/null)" = 1000000 ] || fail "no partial file"
}
case $(basename "$url") in
*-????????.pth) echo "the name of $url has a checksum" ;;
*)
  cut_off retag
  mode retag
  TIMM_USE_OLD_CACHE=1 fetch $swin && cmp -s "$(cat out)" $file && asked 'Range=bytes=1000000- If-Range="tag-' 1 || fail "If-Range"
  expect_line "; cannot verify it (unknown checksum)"
  cut_off retag
  head -c 3000001 /dev/urandom >"$big"
  mode retag
  TIMM_USE_OLD_CACHE=1 fetch $swin && cmp -s "$(cat out)" "$big" || fail "a file that changed meanwhile"
  [ "$(ls $torch)" = "$(basename "$url")" ] || fail "If-Range: other files: $(ls $torch)"
  ;;
esac

finish
