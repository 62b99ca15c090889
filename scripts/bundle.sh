#!/bin/bash
# Builds trainc with all required libraries, for machines that lack them and for users without
# root access.
#
#   scripts/bundle.sh                     (make bundle) build/bundle/trainc-VERSION-linux-ARCH.tar.gz
#   scripts/bundle.sh tree                only the folder of the tarball; prints its path
#
# The folder has bin, lib/trainc, and share; libraries are found relative to bin/trainc. It uses
# the system's C library (at least the version that the binary requires), libgcc, and libstdc++.
# Bundled libraries are renamed (libz-1a2b3c4d.so.1), so that whatever the program opens later,
# such as MPI, curl, or a driver, finds the system's.
#
# Libraries opened on first use: LMDB, OpenJPEG, and libavif are bundled if this machine has them;
# HDF5, curl, MPI, and CUDA's are the system's.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "bundle.sh: $*" >&2; exit 1; }
for tool in patchelf dpkg-query readelf; do
  command -v $tool >/dev/null || fail "$tool is missing: scripts/deps.sh patchelf binutils"
done
version=$(sed -n 's/^#define TRAINC_VERSION "\(.*\)"/\1/p' src/base/version.h)
name=trainc-$version-linux-$(uname -m) root=$PWD/build/bundle
tree=$root/$name lib=$tree/lib/trainc
# Libraries that every distribution has, as in PEP 600.
base='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so'
opened=(liblmdb.so.0 libopenjp2.so.7 libavif.so.16 libavif.so.15)

rm -rf "$root"
mkdir -p "$lib" "$tree/share/licenses/trainc"
${MAKE:-make} -s install DESTDIR="$tree" PREFIX= >"$root/install.log"

closure() { # FILE: prints "NAME PATH" of each library that it loads, except the system's
  ldd "$1" | awk -v skip="$base" '$2 == "=>" && $1 !~ skip {
    if ($3 == "not") { print "not found: " $1 >"/dev/stderr"; exit 1 }
    print $1, $3 }'
}

files=("$tree/bin/trainc")
declare -A path kept
for o in "${opened[@]}"; do
  p=$(ldconfig -p | awk -v name="$o" '$1 == name { print $NF; exit }')
  [ -z "$p" ] || { path[$o]=$p; kept[$o]=1; }
done
for f in "${files[@]}" "${path[@]}"; do
  list=$(closure "$f") || fail "$f misses a library"
  while read -r so p; do [ -z "$so" ] || path[$so]=$p; done <<<"$list"
done

declare -A renamed
for so in "${!path[@]}"; do
  new=$so
  if [ -z "${kept[$so]:-}" ]; then
    hash=$(sha256sum "${path[$so]}" | cut -c1-8)
    new=${so%%.so*}-$hash.so${so#*.so}
  fi
  renamed[$so]=$new
  cp -L "${path[$so]}" "$lib/$new"
  chmod 755 "$lib/$new"
  files+=("$lib/$new")
done
for f in "${files[@]}"; do # patchelf 0.14 mixes up the strings of several changes in one call
  args=() rpath='$ORIGIN/../lib/trainc'
  for so in $(patchelf --print-needed "$f"); do
    [ "${renamed[$so]:-$so}" = "$so" ] || args+=(--replace-needed "$so" "${renamed[$so]}")
  done
  [ ${#args[@]} = 0 ] || patchelf "${args[@]}" "$f"
  if [[ $f == "$lib"/* ]]; then
    rpath='$ORIGIN'
    patchelf --set-soname "$(basename "$f")" "$f"
  fi
  patchelf --set-rpath "$rpath" "$f"
done

# The license of each bundled library is in its Debian package.
for so in "${!path[@]}"; do
  real=$(realpath "${path[$so]}") # dpkg may know it below /lib or below /usr/lib
  package=$(dpkg-query -S "${real#/usr}" "/usr${real#/usr}" 2>/dev/null | head -1 | cut -d: -f1)
  copyright=/usr/share/doc/$package/copyright
  [ -n "$package" ] && [ -s "$copyright" ] || fail "${path[$so]}: no license in /usr/share/doc"
  cp -L "$copyright" "$tree/share/licenses/trainc/$package"
  echo "$so $package" >>"$root/licenses.log"
done
{ echo "Bundled libraries, and the file here that has the license of each:"
  sort "$root/licenses.log"
  echo
  echo "trainc itself has no license yet: ask its authors before you pass it on."
} >"$tree/share/licenses/trainc/README"

if [ "${1:-}" = tree ]; then
  echo "$tree"
  exit
fi
tar c --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" \
  -C "$root" "$name" | gzip -9n >"$root/$name.tar.gz"
echo "$root/$name.tar.gz"
