#!/bin/bash
# Downloads weights into the caches of huggingface_hub and torch.hub from a local server that
# redirects, drops connections, and sends wrong data.
#
#   tests/e2e/download.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
server=
cleanup() { [ -z "$server" ] || kill "$server" 2>/dev/null; }
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE TORCH_HOME XDG_CACHE_HOME TIMM_USE_OLD_CACHE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE \
  HF_TOKEN HUGGING_FACE_HUB_TOKEN HF_TOKEN_PATH HF_HUB_DISABLE_PROGRESS_BARS HF_HUB_DISABLE_SYMLINKS \
  HF_HUB_DISABLE_IMPLICIT_TOKEN SSL_CERT_FILE CURL_CA_BUNDLE http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY \
  no_proxy NO_PROXY
export HOME=$dir/home HF_HOME=$dir/hf HF_HUB_DOWNLOAD_TIMEOUT=2
mkdir -p home

fetch() { "$trainc" models --pretrained "${1:-$name}" --download "${@:2}" >out 2>log; }
mode() { echo "$*" >mode; : >requests; }
fresh() { rm -rf hf home/.cache; mode "$@"; }
refused() { # CODE PATTERN: checks that the last command failed with one line and left nothing in the cache
  [ $? = "$1" ] && [ "$(grep -vc "^downloading" log)" = 1 ] && grep -q -e "$2" log || fail "not refused: $2"
  [ ! -e "$snapshot" ] || fail "$2: a file is in the cache"
}
gone() { [ -z "$(find hf home/.cache -type f ! -name '*.lock' 2>/dev/null)" ] || fail "$1: a file stays"; }
asked() { # PATTERN N
  [ "$(grep -c -e "$1" requests)" = "$2" ] || fail "not $2 requests: $1: $(cat requests)"
}

name=test_resnet.r160_in1k commit=0123456789012345678901234567890123456789
hub=hf/hub/models--timm--$name
snapshot=$hub/snapshots/$commit/model.safetensors
mkdir -p site/timm/$name site/me/net
head -c 3000000 /dev/urandom >site/timm/$name/model.safetensors
file=site/timm/$name/model.safetensors
sum=$(sha256sum $file | cut -d' ' -f1)
blob=$hub/blobs/$sum

python3 -u "$here/tests/e2e/hub_server.py" site >ports 2>server.log &
server=$!
for _ in $(seq 100); do
  grep -q ^cdn ports && break
  sleep 0.1
done
hub_port=$(sed -n 's/^hub //p' ports) cdn_port=$(sed -n 's/^cdn //p' ports)
export HF_ENDPOINT=http://127.0.0.1:$hub_port/ TRAINC_MIRROR=http://127.0.0.1:$cdn_port

# Files are laid out as huggingface_hub does; nothing is requested twice.
fresh
fetch || fail "download"
[ "$(cat out)" = "$dir/$snapshot" ] || fail "its place is printed: $(cat out)"
cmp -s "$snapshot" $file && cmp -s "$blob" $file || fail "what was downloaded"
[ "$(readlink "$snapshot")" = "../../blobs/$sum" ] && [ "$(cat $hub/refs/main)" = $commit ] || fail "link and refs/main"
[ "$(wc -l <log)" = 1 ] && grep -q "^downloading http://127.0.0.1:$hub_port/timm/$name/resolve/$commit/model.safetensors (2.9 MiB) to '.*$snapshot'$" log ||
  fail "one line in a log"
asked "^hub HEAD /timm/$name/resolve/main/model.safetensors" 1
asked "^hub GET /timm/$name/resolve/$commit/model.safetensors" 1
fetch && [ "$(cat out)" = "$dir/$snapshot" ] && [ ! -s log ] || fail "a second time"
[ "$(wc -l <requests)" = 2 ] || fail "what is in the cache is asked for again"
find hf -name '*.incomplete' | grep -q . && fail "a partial file stays"
rm -r "$hub/snapshots" $hub/refs && fetch && cmp -s "$snapshot" $file && asked "GET" 1 || fail "a blob that is there"
fresh
HF_HUB_DISABLE_SYMLINKS=1 fetch && [ ! -L "$snapshot" ] && cmp -s "$snapshot" $file || fail "HF_HUB_DISABLE_SYMLINKS"
fresh
fetch hf-hub:timm/$name@v2 && [ "$(cat $hub/refs/v2)" = $commit ] && [ ! -e $hub/refs/main ] || fail "a revision"
fetch hf-hub:timm/$name@$commit && [ ! -e $hub/refs/$commit ] || fail "a commit"
fresh
fetch hf-hub:timm/$name@refs/pr/1 && [ "$(cat $hub/refs/refs/pr/1)" = $commit ] || fail "a revision with slashes"
asked "resolve/refs%2Fpr%2F1/" 1
for bad in 'hf-hub:me/../net' 'hf-hub:../net' 'hf-hub:me/..' 'hf-hub:me/net@../x' 'hf-hub:me/net@/etc' 'hf-hub:a b/c'; do
  fresh
  fetch "$bad"
  refused 2 "is no OWNER/NAME"
  [ ! -s requests ] || fail "$bad is asked for"
done

# Redirects and the token.
fresh redirect
HF_TOKEN=hf_secret fetch && cmp -s "$snapshot" $file || fail "a redirect"
asked "^hub HEAD .*Authorization=Bearer hf_secret" 1
asked "^hub GET .*Authorization=Bearer hf_secret" 1
asked "^cdn GET .*signed=1" 1
asked "^cdn .*Authorization" 0
fresh
mkdir -p hf && echo " hf_file " >hf/token
fetch && asked "Authorization=Bearer hf_file " 2 || fail "the file of a token"
fresh
echo "hf_other" >token
HF_TOKEN_PATH=$dir/token fetch && asked "Authorization=Bearer hf_other " 2 || fail "HF_TOKEN_PATH"
fresh
HF_TOKEN=hf_secret HF_HUB_DISABLE_IMPLICIT_TOKEN=1 fetch && asked Authorization 0 || fail "HF_HUB_DISABLE_IMPLICIT_TOKEN"
fresh
HF_TOKEN=$'a\r\nX-Header: b' fetch && asked Authorization 0 || fail "a token of several lines"
fresh loop
fetch
refused 1 "more than 10 redirects"
for to in file:///etc/passwd ftp://127.0.0.1/x; do
  fresh "to=$to"
  fetch
  refused 1 "redirects to what is no https:// address"
  gone "$to"
done

# A dropped download continues where it stopped, in the same call or the next.
fresh cut=1000000
fetch && cmp -s "$snapshot" $file || fail "a connection that is cut"
expect_line "the connection was cut\|closed with.*; retrying in 0.5 s\|partial"
asked "Range=bytes=1000000- " 1
asked "Range=bytes=2000000- " 1
fresh slow
"$trainc" models --pretrained $name --download >out 2>log &
for _ in $(seq 100); do
  [ "$(stat -c %s "$blob.incomplete" 2>/dev/null || echo 0)" -lt 500000 ] || break
  sleep 0.05
done
kill -INT $! && kill -TERM $! && wait $!
[ -s "$blob.incomplete" ] && [ ! -e "$snapshot" ] || fail "what a signal leaves"
part=$(stat -c %s "$blob.incomplete")
mode
fetch && cmp -s "$snapshot" $file && asked "GET .*Range=bytes=$part- " 1 || fail "going on after a signal"
fresh
mkdir -p $hub/blobs && head -c 3000000 /dev/zero >"$blob.incomplete"
fetch && cmp -s "$snapshot" $file && asked GET 1 || fail "a partial file of other bytes, as long as the file"
fresh whole
mkdir -p $hub/blobs && head -c 1000000 $file >"$blob.incomplete"
fetch && cmp -s "$snapshot" $file && asked "Range=bytes=1000000-" 1 || fail "a server without ranges"
fresh "range=5 times=1"
mkdir -p $hub/blobs && head -c 1000000 $file >"$blob.incomplete"
fetch && cmp -s "$snapshot" $file && asked "Range=" 1 && asked GET 2 || fail "another range"
fresh
mkdir -p $hub/blobs && head -c 4000000 /dev/zero >"$blob.incomplete"
fetch && cmp -s "$snapshot" $file && asked "Range=" 0 || fail "a partial file that is too long"
fresh "stall=500000 times=1"
fetch && cmp -s "$snapshot" $file && asked "Range=bytes=500000-" 1 && expect_line "no data for 2 s; retrying in" || fail "silence"

# Retries: only some failures are retried.
fresh "status=503 times=2"
fetch && cmp -s "$snapshot" $file && expect_line "answers with HTTP status 503; retrying in 0.5 s" && asked GET 3 || fail "503"
fresh status=500
fetch
[ $? = 1 ] && [ "$(wc -l <log)" = 5 ] && asked HEAD 5 || fail "500 for ever"
expect_line "cannot download the weights $name: 127.0.0.1:$hub_port answers with HTTP status 500; to do it manually, download http.*/resolve/main/model.safetensors and save it as '.*/snapshots/main/model.safetensors'$"
gone 500
for status in 401 403; do
  fresh status=$status
  fetch
  refused 1 "HTTP status $status: it is private, gated, or does not exist (set HF_TOKEN to a token; see http://127.0.0.1:$hub_port/timm/$name)"
  asked HEAD 1
  fresh status=$status
  HF_TOKEN=hf_secret fetch
  refused 1 "HTTP status $status: it does not exist, or the token has no access"
  grep -q "secret" log && fail "a token or the server's page is printed"
done
fresh status=404
fetch
refused 1 "HTTP status 404: there is no such repository, revision, or file"
fresh
fetch hf-hub:me/nothing
[ $? = 1 ] && expect_line "cannot download the weights me/nothing: 127.0.0.1:$hub_port answers with HTTP status 404" || fail "no such repository"

# Data from the server are verified.
fresh lie
fetch
refused 1 "what the server sends is damaged: its SHA-256 begins with ${sum:0:8}, not 00000000"
asked GET 1
gone "a wrong checksum"
fresh lie
mkdir -p $hub/blobs && head -c 1000000 $file >$hub/blobs/$(printf '0%.0s' $(seq 64)).incomplete
fetch
refused 1 "is damaged"
asked GET 2
gone "a wrong checksum of what was continued"
fresh less
fetch
refused 1 "announces another size than the file has"
fresh more
fetch
[ $? = 1 ] && [ ! -e "$snapshot" ] && expect_line "announces another size" || fail "a longer body"
for bad in commit=../../../x commit=main etag=../../x etag=$sum/x etag= commit=${commit}0; do
  fresh "$bad"
  fetch
  refused 1 "does not answer as the Hugging Face hub does"
  gone "$bad"
done
if command -v python3 >/dev/null && [ "$(id -u)" = 0 ] && mkdir -p small && mount -t tmpfs -o size=2m none small 2>/dev/null; then
  fresh
  HF_HOME=$dir/small fetch
  [ $? = 1 ] && [ "$(wc -l <log)" = 1 ] && expect_line "needs 2.9 MiB, and its disk has" || fail "a full disk"
  umount small
fi
fresh
mkdir hf && touch hf/hub
fetch
[ $? = 1 ] && expect_line "cannot write '.*/hf/hub/.*': Not a directory" || fail "a folder that cannot be made"

# Two processes: the first holds the lock, and only one downloads.
fresh slow
"$trainc" models --pretrained $name --download >out1 2>log1 &
first=$!
for _ in $(seq 100); do
  [ ! -s "$blob.incomplete" ] || break
  sleep 0.05
done
fetch && wait $first && cmp -s out out1 && asked GET 1 || fail "two processes"
expect_line "$name: waiting for another process to download it"
fresh slow
"$trainc" models --pretrained $name --download >out1 2>log1 &
first=$!
for _ in $(seq 100); do
  [ ! -s "$blob.incomplete" ] || break
  sleep 0.05
done
(sleep 0.3; kill -KILL $first) &
fetch && cmp -s "$snapshot" $file && asked "GET" 2 && asked Range= 1 || fail "the lock of a killed process"
wait $first 2>/dev/null

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
fi

# Shows a progress bar on a terminal, unless it is switched off.
if command -v script >/dev/null; then
  fresh slow
  script -qec "stty cols 100; '$trainc' models --pretrained $name --download" log >/dev/null
  expect_line "$name: .*%|#*.*| .*iB/.*iB \[00:0.<.*iB/s\]"
  fresh slow
  HF_HUB_DISABLE_PROGRESS_BARS=1 script -qec "'$trainc' models --pretrained $name --download" log >/dev/null
  grep -q "%|" log && fail "HF_HUB_DISABLE_PROGRESS_BARS"
fi

# https:// with an untrusted certificate.
if command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj /CN=localhost -addext "subjectAltName=DNS:localhost" 2>/dev/null; then
  cat key.pem >>cert.pem
  python3 -u "$here/tests/e2e/hub_server.py" site cert.pem >tls_ports 2>server.log &
  tls=$!
  for _ in $(seq 100); do
    grep -q ^cdn tls_ports && break
    sleep 0.1
  done
  port=$(sed -n 's/^hub //p' tls_ports)
  fresh
  HF_ENDPOINT=https://localhost:$port fetch
  refused 1 "certificate.*(SSL_CERT_FILE=FILE names other certificates)"
  SSL_CERT_FILE=$dir/cert.pem HF_ENDPOINT=https://localhost:$port fetch && cmp -s "$snapshot" $file || fail "https"
  fresh redirect
  SSL_CERT_FILE=$dir/cert.pem HF_ENDPOINT=https://localhost:$port fetch
  refused 1 "redirects to what is no https:// address"
  kill $tls
fi

finish
