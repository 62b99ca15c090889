#!/bin/bash
# The index of a data set is stored in a folder of the user, and the data folder stays unchanged;
# index files that are already in the data folder are used; runs share decoded images. If nothing
# can be stored, one line says so and the run continues.
#
#   tests/e2e/index.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
cleanup() { chmod -R u+w "$dir"; }

lists() { find "$1" -not -name '*.jpg' | sort; }

"$trainc" synth shapes --out shapes --classes 4 --train 24 --val 12 --size 16 2>/dev/null || exit 1
find shapes -type d -exec touch -d '1 hour ago' {} +
before=$(lists shapes)
export XDG_CACHE_HOME=$dir/cache
kept=$XDG_CACHE_HOME/trainc
train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --threads 1 -j 1 --epochs 1 --warmup-epochs 0 --output out)

# Each split has one index, and one file of decoded images that later runs share.
"${train[@]}" --tag one --cache mmap >log 2>&1 || fail "a run"
expect_line "'shapes/train': sharing decoded images in '$kept/cache-.*; 0 of 24 are there"
[ "$(ls "$kept" | sed 's/-.*//' | sort | xargs)" = "cache cache index index" ] || fail "kept: $(ls "$kept")"
"${train[@]}" --tag two --cache mmap >log 2>&1 || fail "a second run"
expect_line "'shapes/train': sharing decoded images in '$kept/cache-.*; 24 of 24 are there"
expect_line "'shapes/val': .*; 12 of 12 are there"
"$trainc" check --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes >log 2>&1 || fail "check"
"$trainc" init shapes >log 2>&1 || fail "init"
[ "$(lists shapes)" = "$before" ] || { lists shapes; fail "files in the folder of the data"; }
# A link to the folder uses the same files; another folder has its own.
ln -s shapes link
"${train[@]}" --tag link --data-path link --cache mmap >log 2>&1 || fail "by a link"
expect_line "'link/train': .*; 24 of 24 are there"
cp -a shapes copy
"${train[@]}" --tag copy --data-path copy --cache mmap >log 2>&1 || fail "a copy"
expect_line "'copy/train': .*; 0 of 24 are there"
echo "ok: in the user's folder"

# Two concurrent runs map one file; their metrics equal those of a run without it.
rm -r "$kept"
for i in 1 2; do "${train[@]}" --tag "both$i" --cache mmap --result "r$i.json" >"log$i" 2>&1 & done
wait
"${train[@]}" --tag none --result r3.json >log 2>&1 || fail "without"
for i in 1 2; do
  [ "$(grep '"train_loss"\|"val_loss"' "r$i.json")" = "$(grep '"train_loss"\|"val_loss"' r3.json)" ] || { cat "log$i"; fail "two at once: $i"; }
done
[ "$(ls "$kept"/cache-* | wc -l)" = 2 ] || fail "two at once: $(ls "$kept")"
echo "ok: two at once"

# --index-dir selects another folder or the data folder, where files are found without the option.
"${train[@]}" --tag other --index-dir other --cache mmap >log 2>&1 || fail "--index-dir"
[ "$(ls other | sed 's/-.*//' | sort | xargs)" = "cache cache index index" ] || fail "--index-dir: $(ls other)"
"${train[@]}" --tag with_data --index-dir shapes --cache mmap >log 2>&1 || fail "--index-dir of the data"
[ "$(ls -d shapes/.trainc-index-* shapes/.trainc-cache-* | wc -l)" = 4 ] || fail "next to the data: $(ls -a shapes)"
rm -r "$kept"
"${train[@]}" --tag found --cache mmap >log 2>&1 || fail "next to the data, found"
expect_line "'shapes/train': sharing decoded images in 'shapes/.trainc-cache-.*; 24 of 24 are there"
[ -e "$kept" ] && fail "next to the data: $(ls "$kept")"
# Damaged files in the data folder are not replaced there.
for f in shapes/.trainc-*; do echo damaged >"$f"; done
"${train[@]}" --tag damaged --cache mmap >log 2>&1 || fail "next to the data, damaged"
expect_line "'shapes/train': sharing decoded images in '$kept/cache-.*; 0 of 24 are there"
[ "$(cat shapes/.trainc-* | sort -u)" = damaged ] || fail "files next to the data were written"
rm shapes/.trainc-*
echo "ok: next to the data"

# DATA.INDEX_DIR is empty or not a folder.
"${train[@]}" --tag empty --opts DATA.INDEX_DIR= >log 2>&1 || fail "none"
grep -q "INDEX_DIR" log && fail "none: a word about it"
: >file
XDG_CACHE_HOME=$dir/file "${train[@]}" --tag nowhere >log 2>&1 || fail "no folder"
[ "$(grep -c "cannot cache data set indexes in '$dir/file/trainc': Not a directory" log)" = 1 ] || fail "no folder: not said once"
XDG_CACHE_HOME=$dir/file "${train[@]}" --tag uncached --cache mmap >log 2>&1 || fail "no folder for decoded images"
expect_line "^warning: DATA.CACHE mmap: cannot use '$dir/file/trainc/cache-.*': Not a directory; decoding images every time"
echo "ok: no folder"

finish
