#!/bin/bash
# The index of a data set is stored in a folder of the user, and the data folder stays unchanged;
# index files that are already in the data folder are used; runs share decoded images. If nothing
# can be stored, one line says so and the run continues. trainc cache lists and deletes what is stored.
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
  cp "log$i" log # which same_values shows if it fails
  same_values "r$i.json" r3.json train_loss val_loss
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

# trainc cache lists and deletes these files, and only these.
"${train[@]}" --tag listed --cache mmap >log 2>&1 || fail "a run"
touch "$kept"/{notes.txt,cache-1,index-0123456789abcdef,cudnn-0123456789ABCDEF0123456789ABCDEF.json,cudnn-0123456789abcdef.json} "$kept"/index-0123456789abcdef-0123456789abcdef{.12ab.tmp,.34cd.tmp,.bak}
touch -d '2 hours ago' "$kept"/*.34cd.tmp && touch -d '31 days ago' "$kept/cpu-0123456789abcdef0123456789abcdef.json" && ln -s file "$kept/index-0123456789abcdef-0123456789abcdef"
"$trainc" cache >log 2>&1 || fail "cache"
expect_line "^files in '$kept':"
expect_line '^index  *3 '
expect_line '^cache  *2  *[0-9.]* MiB  decoded images'
expect_line '^total  *6 '
"$trainc" cache --older-than 30 >log 2>&1 || fail "cache --older-than"
expect_line "^deleted from '$kept':"
[ ! -e "$kept/cpu-0123456789abcdef0123456789abcdef.json" ] && grep -q '^total  *1 ' log || fail "cache --older-than 30: $(ls "$kept")"
"$trainc" cache --clear >log 2>&1 || fail "cache --clear"
expect_line '^total  *5 '
[ "$(ls "$kept" | wc -l)" = 8 ] || fail "cache --clear: $(ls "$kept")"
refuses "'1.5' is not a number of days" "$trainc" cache --older-than 1.5
refuses "'0' is not a number of days" "$trainc" cache --older-than 0
refuses 'cannot be combined with --clear' "$trainc" cache --clear --older-than 3
refuses 'there is no cache' "$trainc" cache --index-dir ''
refuses 'use trainc cache' "$trainc" prune
exits 0 '^total  *0 ' "$trainc" cache --index-dir nowhere
[ "$(ls -A shapes)" = "$(printf 'synth.json\ntrain\nval')" ] || fail "shapes: $(ls -A shapes)"
"${train[@]}" --tag hidden --index-dir shapes >log 2>&1 || fail "--index-dir of the data"
exits 0 '^index  *2 ' "$trainc" cache --clear --index-dir shapes
[ "$(ls -A shapes)" = "$(printf 'synth.json\ntrain\nval')" ] || fail "shapes: $(ls -A shapes)"
echo "ok: trainc cache"

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
