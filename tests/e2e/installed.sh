#!/bin/bash
# --cfg outside the source tree: a missing path is looked up among the installed configurations, a
# file in the current folder takes precedence, and a note names the file that was read.
#
#   tests/e2e/installed.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

# The layout of `make install`, a wheel, and a bundle; also found through a symbolic link.
mkdir -p prefix/bin prefix/share/trainc bin work
cp "$trainc" prefix/bin/ && cp -r "$here/configs" prefix/share/trainc/
ln -s ../prefix/bin/trainc bin/trainc
cfg=configs/smoke/synthetic.yaml
installed=$dir/prefix/share/trainc/$cfg
cd work || exit 1
epochs() { "$1" config --cfg $cfg 2>log | sed -n "s/^  EPOCHS: \([0-9]*\).*/\1/p"; } # PROGRAM

want=$("$trainc" config --cfg "$installed" | sed -n "s/^  EPOCHS: \([0-9]*\).*/\1/p")
for program in "$dir/prefix/bin/trainc" "$dir/bin/trainc"; do
  [ "$(epochs "$program")" = "$want" ] || fail "$program does not read the installed file"
  expect_line "^trainc: note: reading $installed: there is no $cfg in the current folder$"
done
"$dir/bin/trainc" --cfg $cfg --output out --max-steps 1 >log 2>&1 || fail "training"
expect_line "note: reading $installed: "

mkdir -p configs/smoke && echo 'TRAIN: {EPOCHS: 77}' >$cfg
[ "$(epochs "$dir/bin/trainc")" = 77 ] || fail "the file in the current folder does not win"
grep -q 'note: reading' log && fail "a note without a need"
refuses "configs/none.yaml" "$dir/bin/trainc" --cfg configs/none.yaml
rm -r configs
refuses "$cfg" "$trainc" --cfg $cfg # the program in the source tree is not installed

finish
