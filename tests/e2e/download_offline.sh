#!/bin/bash
# No download without network, libcurl, or a usable address; one line says what to fetch by hand.
#
#   tests/e2e/download_offline.sh [TRAINC]
. "$(dirname "$0")/download.bash"

other=resnet101d.ra2_in1k

# No network, by option or in fact.
fresh
fetch $name --offline
refused 1 "the weights $name are not in any cache: download http.*/resolve/main/model.safetensors and save it as '.*' (not downloaded: MODEL.OFFLINE is set)"
for variable in HF_HUB_OFFLINE=1 HF_HUB_OFFLINE=on TRANSFORMERS_OFFLINE=YES; do
  env $variable "$trainc" predict --device cpu --pretrained $name "$here/README.md" >log 2>&1
  refused 2 "are not in any cache: download .* and save it as '.*' (not downloaded: ${variable%=*} is set)"
done
[ ! -s requests ] || fail "offline, and something is asked"
HF_HUB_OFFLINE=0 fetch || fail "HF_HUB_OFFLINE=0"
fresh
HF_ENDPOINT=http://127.0.0.1:1 fetch
refused 1 "cannot download the weights $name: .*127.0.0.1.*; to do it manually, download http://127.0.0.1:1/timm/"
HF_ENDPOINT=https://name.invalid fetch
refused 1 "[Rr]esolve.*name.invalid"
for bad in ftp://127.0.0.1 file:///x "http://a b" http://me:word@127.0.0.1; do
  HF_ENDPOINT=$bad fetch
  refused 1 "HF_ENDPOINT '.*' is not https://HOST"
done
TRAINC_MIRROR=mirror fetch $other
refused 1 "TRAINC_MIRROR 'mirror/' is not https://HOST"
HF_ENDPOINT=http://name.invalid http_proxy=http://127.0.0.1:$cdn_port fetch && cmp -s "$snapshot" $file || fail "a proxy"
asked "^cdn GET http://name.invalid/timm/" 1
fresh
HF_ENDPOINT=http://name.invalid http_proxy=http://127.0.0.1:$cdn_port no_proxy=name.invalid fetch
refused 1 "[Rr]esolve.*name.invalid"

# Without libcurl: invalid files take its place.
mkdir -p lib
echo >lib/libcurl.so.4 && cp lib/libcurl.so.4 lib/libcurl-gnutls.so.4
fresh
LD_LIBRARY_PATH=$dir/lib fetch
refused 1 "are not in any cache: download http.* and save it as '.*' (not downloaded: libcurl.so.4 cannot be opened, which Debian's libcurl4 has)"

finish
