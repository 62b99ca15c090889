#!/bin/sh
# Installs missing packages that are needed to build and test trainc, and says so: Debian 12 and
# 13, Ubuntu 24.04. If all are installed, it does nothing and needs no root access.
#
#   deps.sh [PACKAGE ...]   installs these, too: libomp-dev for SANITIZE=thread
#
#   DEPS_DRYRUN=1     only print what would be installed
#   DEPS_NAMES=FILE   print what would be installed on a fresh distribution whose packages
#                     FILE lists, one name per line (tests/packages/)
#   DEPS_LIST=1       print the names below that this distribution has
set -u

# One package per line; | separates alternatives, best first, because distributions use different
# names.
packages="
gcc
g++
libc6-dev
make
libyaml-dev
libturbojpeg0-dev|libturbojpeg-dev
libjpeg-dev|libjpeg62-turbo-dev
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
jq
codespell
openmpi-bin
patchelf
libopenmpi3|libopenmpi3t64|libopenmpi40
$*
"

say() { echo "deps: $*"; }
fail() { echo "deps: $*" >&2; exit 1; }

known() { # name: true if the distribution has such a package
    if [ -n "${DEPS_NAMES:-}" ]; then
        grep -qx "$1" "$DEPS_NAMES"
    else
        apt-cache policy "$1" | grep -q '^  Candidate: [^(]'
    fi
}

installed() { # name
    [ -z "${DEPS_NAMES:-}" ] &&
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Sets `missing` to one name for each package of which no alternative is installed, and `unknown`
# to packages that the distribution does not have.
find_missing() {
    missing= unknown=
    for p in $packages; do
        first= found=
        for name in $(echo "$p" | tr '|' ' '); do
            installed "$name" && found=1 && break
            [ -n "$first" ] || ! known "$name" || first=$name
        done
        [ -z "$found" ] || continue
        missing="$missing ${first:-${p%%|*}}"
        [ -n "$first" ] || unknown="$unknown $p"
    done
}

if [ -z "${DEPS_NAMES:-}" ]; then
    command -v apt-get >/dev/null ||
        fail "neither Debian nor Ubuntu: docs/install.md has the names of Fedora's and Arch's packages"
fi
if [ -n "${DEPS_LIST:-}" ]; then
    for name in $(echo $packages | tr '|' ' '); do
        ! known "$name" || echo "$name"
    done
    exit 0
fi

find_missing
if [ -z "$missing" ]; then
    say "all packages are installed"
    exit 0
fi
if [ -n "${DEPS_NAMES:-}" ]; then
    [ -z "$unknown" ] || fail "not in $DEPS_NAMES:$unknown"
    say "missing:$missing"
    exit 0
fi
if [ -n "${DEPS_DRYRUN:-}" ]; then
    say "missing:$missing"
    say "dry run, nothing installed"
    exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        fail "not root, and there is no sudo; as root: apt-get install$missing"
    as_root=sudo
fi
log=$(mktemp) || fail "cannot create a temporary file"
trap 'rm -f "$log"' EXIT
say "running apt-get update"
$as_root apt-get update >"$log" 2>&1 || { tail -n 5 "$log" >&2; fail "apt-get update failed"; }
find_missing # a new machine knows no packages before apt-get update
[ -z "$unknown" ] || fail "this distribution does not have:$unknown"
say "installing:$missing"
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; fail "apt-get install failed"; }
say "done"
