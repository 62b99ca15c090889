#!/bin/bash
# Checks that the packages in scripts/deps.sh and those that the Debian package recommends exist
# in Debian 12 and 13 and in Ubuntu 24.04.
#
#   tests/e2e/deps.sh           checks tests/packages/*.txt
#   tests/e2e/deps.sh --write   writes the list of this distribution; call apt-get update first
. "$(dirname "$0")/lib.bash"
cd "$here" || exit 1

# One word per package; | separates alternatives.
mapfile -t optional < <(sed -n 's/^\(Recommends\|Suggests\): //p' scripts/deb.sh |
  sed 's/ | /|/g; s/, /\n/g')
[ ${#optional[@]} -ge 5 ] || fail "scripts/deb.sh recommends: ${optional[*]}"

if [ "${1:-}" = --write ]; then
  . /etc/os-release
  file=tests/packages/$ID-$VERSION_ID.txt
  { echo "# $PRETTY_NAME: written by tests/e2e/deps.sh --write"
    DEPS_LIST=1 scripts/deps.sh "${optional[@]}" | LC_ALL=C sort -u; } >"$file"
  exit
fi

for names in tests/packages/*.txt; do
  plan=$(DEPS_NAMES=$names scripts/deps.sh "${optional[@]}" 2>&1) || fail "$names: $plan"
  for p in ${plan#deps: missing:}; do
    grep -qx "$p" "$names" || fail "$names has no package $p"
  done
done
set -- $(ls tests/packages)
[ $# -ge 3 ] || fail "lists of three distributions, not $#"

# None of the alternatives exists.
! out=$(DEPS_NAMES=tests/packages/debian-12.txt scripts/deps.sh 'no-such-dev|nor-this-dev' 2>&1) ||
  fail "an unknown package passes: $out"
case $out in *"not in tests/packages/debian-12.txt: no-such-dev|nor-this-dev") ;; *) fail "$out" ;; esac
# The first alternative that exists is chosen.
out=$(DEPS_NAMES=tests/packages/debian-12.txt scripts/deps.sh 'no-such-dev|libtiff-dev')
case $out in *" libtiff-dev") ;; *) fail "$out" ;; esac

[ $fails = 0 ] && echo "deps: each distribution has every package"
finish
