#!/bin/bash
# Downloads oneDNN 3.2 with gcc's OpenMP (two packages of PyPI, 39 MB) into build/onednn3, for
# make test-onednn3. Nothing is installed on the system.
#
#   scripts/onednn3.sh        installs pip (scripts/deps.sh python3-pip) if there is none
#
#   ONEDNN_VERSION=2023.2.0   the packages' version
set -eu
cd "$(dirname "$0")/.."
version=${ONEDNN_VERSION:-2023.2.0} out=build/onednn3
fail() { echo "onednn3: $*" >&2; exit 1; }
if [ -e $out/include/dnnl.h ] && [ -e $out/lib/libdnnl.so ]; then
  echo "onednn3: $out has it"
  exit 0
fi
python3 -m pip --version >/dev/null 2>&1 || scripts/deps.sh python3-pip
mkdir -p build
dir=$(mktemp -d build/onednn3.XXXXXX)
trap 'rm -rf "$dir"' EXIT
python3 -m pip download -q --disable-pip-version-check --no-deps -d "$dir" \
  "onednn-cpu-gomp==$version" "onednn-devel-cpu-gomp==$version" || fail "pip cannot download oneDNN"
for wheel in "$dir"/*.whl; do
  python3 -m zipfile -e "$wheel" "$dir/files"
done
mkdir "$dir/onednn3"
cp -r "$dir"/files/*.data/data/include "$dir"/files/*.data/data/lib "$dir/onednn3/"
rm -rf $out
mv "$dir/onednn3" $out
echo "onednn3: $(ls -d $out/lib/libdnnl.so.*.*)"
