#!/bin/bash
# Downloads weights into the cache of huggingface_hub from a local server that redirects, drops
# connections, and sends wrong data.
#
#   tests/e2e/download.sh [TRAINC]
. "$(dirname "$0")/download.bash"

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
else
  echo "a full disk: skipped, as tmpfs cannot be mounted here"
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

# Shows a progress bar on a terminal, unless it is switched off.
if command -v script >/dev/null; then
  fresh slow
  script -qec "stty cols 100; '$trainc' models --pretrained $name --download" log >/dev/null
  expect_line "$name: .*%|#*.*| .*iB/.*iB \[00:0.<.*iB/s\]"
  fresh slow
  HF_HUB_DISABLE_PROGRESS_BARS=1 script -qec "'$trainc' models --pretrained $name --download" log >/dev/null
  grep -q "%|" log && fail "HF_HUB_DISABLE_PROGRESS_BARS"
else
  echo "a progress bar: skipped, as script is not installed"
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
else
  echo "https: skipped, as openssl cannot make a certificate"
fi

finish
