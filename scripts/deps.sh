#!/bin/sh
# Installs the Debian packages that building and testing trainc needs, those that are
# missing, and says so. When all are there it does nothing, as any user.
#
#   deps.sh [PACKAGE ...]   these, too: libomp-dev is what SANITIZE=thread needs
#
#   DEPS_DRYRUN=1   print what would be installed, install nothing
set -u

packages="
gcc
g++
libc6-dev
make
libyaml-dev
libturbojpeg0-dev
libjpeg62-turbo-dev
libpng-dev
libdeflate-dev
libwebp-dev
libtiff-dev
libavif-dev
libopenjp2-7-dev
zlib1g-dev
libzip-dev
libarchive-dev
libstb-dev
libdnnl-dev
libxxhash-dev
libjansson-dev
libprotobuf-c-dev
protobuf-c-compiler
liblmdb-dev
libhdf5-dev
libcurl4-openssl-dev
libcmocka-dev
openmpi-bin
$*
"

say() { echo "deps: $*"; }
fail() { echo "deps: $*" >&2; exit 1; }

command -v dpkg-query >/dev/null || fail "this is not Debian; install what corresponds to:" $packages

missing=
for p in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)
    [ "$state" = installed ] || missing="$missing $p"
done
if [ -z "$missing" ]; then
    say "all packages are there"
    exit 0
fi
say "missing:$missing"
if [ -n "${DEPS_DRYRUN:-}" ]; then
    say "dry run, nothing installed"
    exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        fail "not root, and there is no sudo; as root: apt-get install$missing"
    as_root=sudo
fi
log=$(mktemp) || fail "no room for a temporary file"
trap 'rm -f "$log"' EXIT
say "installing (apt-get update, apt-get install)"
$as_root apt-get update >"$log" 2>&1 || { tail -n 5 "$log" >&2; fail "apt-get update failed"; }
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; fail "apt-get install failed"; }
say "done"
