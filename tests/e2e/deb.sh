#!/bin/bash
# make deb: checks the package's files and dependencies, runs its binary from where it is
# unpacked, and runs lintian if it is installed.
#
#   tests/e2e/deb.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "deb: skipped, as there is no $tool (apt-get install dpkg-dev)"; exit 77; }
done
deb=$(DEB_COMPRESSION=gzip DEB_MAINTAINER='Some One <some.one@example.org>' make -s -C "$here" deb 2>log | tail -1)
[ -s "$deb" ] || { fail "make deb: '$deb'"; finish; }
field() { dpkg-deb -f "$deb" "$1"; }
[ "$(field Package)" = trainc ] && [ "$(field Maintainer)" = 'Some One <some.one@example.org>' ] || fail "$(dpkg-deb -f "$deb")"
[ "$(field Version)" = "$(sed -n 's/^#define TRAINC_VERSION "\(.*\)"/\1/p' "$here/src/base/version.h")" ] || fail "version $(field Version)"
# Each library that the binary needs is in a package that the .deb depends on.
dpkg-deb -x "$deb" root && dpkg-deb -e "$deb" control
# (One dpkg -S call for all, because it reads every package's file list each time. dpkg may know a
# file by the path of its link, or by its path in merged /usr.)
libs=$(objdump -p root/usr/bin/trainc | sed -n 's/^ *NEEDED *//p')
ldd root/usr/bin/trainc | sed -n 's|^\s*\([^ ]*\) => \([^ ]*\) .*|\1 \2|p' >paths
while read -r lib path; do
  printf '%s\n%s\n%s\n' "$path" "$(realpath "$path")" "/usr$path"
done <paths | sort -u | xargs dpkg -S 2>/dev/null >owners
for lib in $libs; do
  path=$(awk -v l="$lib" '$1 == l {print $2}' paths)
  [ -n "$path" ] || continue # the dynamic loader
  package=$(awk -F': ' -v a="$path" -v b="$(realpath "$path")" -v c="/usr$path" \
    '$2 == a || $2 == b || $2 == c {print $1; exit}' owners | cut -d: -f1)
  [ -n "$package" ] || { fail "$lib is of no package"; continue; }
  [[ ", $(field Depends)" == *", $package"* ]] || fail "$lib is of $package, which is no dependency: $(field Depends)"
done
(cd root && md5sum --quiet -c ../control/md5sums) || fail "md5sums"
for f in bin/trainc share/man/man1/trainc.1.gz share/man/man1/trainc-train.1.gz share/bash-completion/completions/trainc \
  share/zsh/vendor-completions/_trainc share/trainc/configs/swin.yaml share/doc/trainc/copyright share/doc/trainc/changelog.gz; do
  [ -s "root/usr/$f" ] || fail "no $f"
done
[ "$(dpkg-deb -c "$deb" | awk '$2 != "root/root"' | wc -l)" = 0 ] || fail "files of somebody"
(cd / && "$dir/root/usr/bin/trainc" --cfg "$dir/root/usr/share/trainc/configs/smoke/synthetic.yaml" --device cpu --output "$dir/out" --opts TRAIN.MAX_STEPS=1) >log 2>&1 ||
  fail "the unpacked binary"
zcat root/usr/share/man/man1/trainc-report.1.gz | grep -q '^\.TH' || fail "a manual page"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$deb" >log 2>&1 || fail "lintian"
else
  echo "lintian: skipped, as it is not installed"
fi

finish
