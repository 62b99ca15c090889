#!/bin/bash
# Builds a Debian package with the files of `make install`: build/deb/trainc_VERSION_ARCH.deb.
#
#   scripts/deb.sh              (make deb)
#
#   DEB_MAINTAINER="Name <address>"   maintainer (default: git's user.name and user.email)
#   DEB_COMPRESSION=gzip              takes 3 s; xz, the default, takes a minute and halves the size
#
# dpkg-shlibdeps finds the binary's dependencies. Libraries opened at run time, for LMDB, HDF5,
# AVIF, JPEG 2000, downloads, and MPI, are recommended or suggested. The sources contain no
# license, and the package says so.
set -eu
cd "$(dirname "$0")/.."
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture; do
  command -v $tool >/dev/null || { echo "deb.sh: $tool is missing: apt-get install dpkg-dev" >&2; exit 1; }
done
out=$PWD/build/deb root=$PWD/build/deb/root
version=$(sed -n 's/^#define TRAINC_VERSION "\(.*\)"/\1/p' src/base/version.h)
arch=$(dpkg-architecture -qDEB_HOST_ARCH)
name=$(git config user.name 2>/dev/null || true) mail=$(git config user.email 2>/dev/null || true)
maintainer=${DEB_MAINTAINER:-${name:-trainc} <${mail:-trainc@$(hostname).example.org}>}
date=$(date -R ${SOURCE_DATE_EPOCH:+-d @$SOURCE_DATE_EPOCH})

rm -rf "$out"
mkdir -p "$out/debian" "$root/DEBIAN" "$root/usr/share/doc/trainc"
${MAKE:-make} -s install DESTDIR="$root" PREFIX=/usr >"$out/install.log"

# Debian's folders for these files.
mkdir -p "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/zsh/site-functions/_trainc" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
gzip -9n "$root"/usr/share/man/man1/*.1
cp README.md "$root/usr/share/doc/trainc/"
cp -r docs "$root/usr/share/doc/trainc/docs"
cat >"$root/usr/share/doc/trainc/copyright" <<EOF
This package was made from the sources of trainc by "make deb".

Copyright: 2026 the authors of trainc

License: none is stated in the sources; ask the authors before you pass it on.
EOF
gzip -9n >"$root/usr/share/doc/trainc/changelog.gz" <<EOF
trainc ($version) unstable; urgency=medium

  * Built from the sources; what changed is in their history.

 -- $maintainer  $date
EOF
find "$root/usr" -type d -exec chmod 755 {} +
find "$root/usr" -type f ! -path '*/bin/*' ! -path '*/scripts/*' -exec chmod 644 {} +

# dpkg-shlibdeps requires the debian folder of a source package.
printf 'Source: trainc\n\nPackage: trainc\nArchitecture: any\n' >"$out/debian/control"
depends=$(cd "$out" && dpkg-shlibdeps -O root/usr/bin/trainc 2>shlibdeps.log | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { cat "$out/shlibdeps.log" >&2; echo "deb.sh: dpkg-shlibdeps found no dependencies" >&2; exit 1; }
cat >"$root/DEBIAN/control" <<EOF
Package: trainc
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: $depends
Recommends: libopenjp2-7, libcurl4t64 | libcurl4 | libcurl3t64-gnutls | libcurl3-gnutls
Suggests: liblmdb0, libhdf5-310 | libhdf5-103-1t64 | libhdf5-103-1, libavif16 | libavif15, openmpi-bin
Section: science
Priority: optional
Description: trains image models from one binary and one YAML file
 ResNet, Swin, ViT, ConvNeXt and ERFNet, in mixed precision, on a CPU with
 oneDNN or on NVIDIA GPUs, on one machine or many. Configurations have the
 keys of Swin's, and models timm's names and parameter names.
EOF
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 755 "$root/DEBIAN" && chmod 644 "$root"/DEBIAN/*
dpkg-deb --root-owner-group -Z"${DEB_COMPRESSION:-xz}" --build "$root" "$out/trainc_${version}_$arch.deb" >"$out/build.log"
echo "$out/trainc_${version}_$arch.deb"
