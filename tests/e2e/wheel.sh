#!/bin/bash
# make wheel: installed into a new virtual environment, without network or LD_LIBRARY_PATH, the
# wheel trains a smoke run with its own libraries only. make bundle writes the same files to a tar
# archive, which runs from where it is unpacked.
#
#   tests/e2e/wheel.sh
. "$(dirname "$0")/lib.bash"
command -v patchelf >/dev/null ||
  { echo "wheel: skipped, as there is no patchelf (scripts/deps.sh patchelf)"; exit 77; }
python3 -c 'import venv, ensurepip' 2>/dev/null ||
  { echo "wheel: skipped, as python3 cannot make environments (scripts/deps.sh python3-venv)"; exit 77; }
clean() { env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH= HOME="$dir" "$@"; }

own_libraries() { # BINARY: fails for each library outside its folder except the system's
  ldd "$1" | awk '$2 == "=>" && $3 !~ "/bin/../lib/trainc/" { print $1 }' |
    grep -vE '^(linux-vdso|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' &&
    fail "$1 takes libraries of the system"
}
smoke() { # BINARY SHARE: SHARE is share/trainc
  clean "$1" --cfg "$2/configs/smoke/synthetic.yaml" --output out --tag "$(basename "$PWD")" \
    --result result.json >log 2>&1 && [ "$(json_value result.json exit)" = 0 ] || fail "$1"
  rm -rf out result.json
}

version=$(sed -n 's/^#define TRAINC_VERSION "\(.*\)"/\1/p' "$here/src/base/version.h")
grep -qF "version = \"$version\"" "$here/packaging/conda/meta.yaml" ||
  fail "packaging/conda/meta.yaml has another version than $version"

wheel=$(make -s -C "$here" wheel 2>log | tail -1)
[ -s "$wheel" ] || { fail "make wheel: '$wheel'"; finish; }
[ "$(stat -c %s "$wheel")" -lt 100000000 ] || fail "$(stat -c '%n has %s bytes' "$wheel")"
python3 -m venv env
env/bin/pip install -q --no-index --no-deps "$wheel" >log 2>&1 || fail "pip install"
want=$("$here/trainc" --version)
[ "$(clean env/bin/trainc --version)" = "$want" ] || fail "$(clean env/bin/trainc --version)"
[ "$(clean env/bin/python -m trainc --version)" = "$want" ] || fail "python -m trainc"
refuses "no-such-option" clean env/bin/python -m trainc --no-such-option
own_libraries env/bin/trainc
smoke env/bin/trainc env/share/trainc
[ -s env/share/man/man1/trainc.1 ] || fail "no manual page"

# Every library has a license file, and RECORD lists every file (pip verifies checksums when it
# uninstalls).
licenses=$(echo env/lib/python3*/site-packages/trainc-*.dist-info/licenses)
[ -s "$licenses/README" ] || fail "no licenses in $licenses"
while read -r library package; do
  [ -s "$licenses/$package" ] || fail "no license of $library"
done < <(sed '1d; /^$/,$d' "$licenses/README")
[ "$(sed '1d; /^$/,$d' "$licenses/README" | wc -l)" = "$(ls env/lib/trainc | wc -l)" ] ||
  fail "$licenses/README does not list all of env/lib/trainc"
env/bin/pip uninstall -q -y trainc >log 2>&1 || fail "pip uninstall"
[ -z "$(find env/bin/trainc env/lib/trainc env/share -type f 2>/dev/null)" ] ||
  fail "files remain: $(find env/lib/trainc env/share -type f | head)"

tarball=$(make -s -C "$here" bundle 2>log | tail -1)
[ -s "$tarball" ] || { fail "make bundle: '$tarball'"; finish; }
tar xf "$tarball"
own_libraries trainc-*/bin/trainc
smoke trainc-*/bin/trainc trainc-*/share/trainc

echo "$(stat -c %s "$wheel") bytes"
finish
