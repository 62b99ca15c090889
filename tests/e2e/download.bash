# Shared code of the scripts download*.sh; they source it:
#
#   . "$(dirname "$0")/download.bash"
#
# It sources lib.bash and starts hub_server.py, which serves the folder `site`: the weights $name
# ($file), whose place in the cache is $snapshot. `mode WORDS` tells the server what to do wrong.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
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
