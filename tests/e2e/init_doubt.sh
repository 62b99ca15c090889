#!/bin/bash
# trainc init of a folder whose layout is ambiguous, and label maps that are no label maps: it prints
# no configuration, says why, and lists a command per possible reading.
#
#   tests/e2e/init_doubt.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
. "$here/tests/e2e/layouts.bash"

value() { sed -n "s/^ *$2: \([^#]*[^# ]\) *#.*/\1/p" "$1" | head -1; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is '$(value "$1" "$2")', not '$3'"; }

layouts_begin "$trainc" || exit 1
# If the layout is ambiguous, init writes nothing and lists a working command for each reading.
unsure() { # LAYOUT WHY READING...
  local dir=$1 why=$2 reading
  shift 2
  "$trainc" init "$dir" >x.yaml 2>log
  [ $? = 2 ] && cp log log.all && [ ! -s x.yaml ] || fail "$dir: the exit code, or a configuration of what is not sure"
  grep -q "the layout of '.*$dir' is ambiguous: .*$why" log || fail "$dir: why it is not sure"
  for reading; do
    grep -q "^  trainc init .*$dir$reading " log || fail "$dir: no reading '$reading'"
  done
  sed -n 's/^  trainc \(init .*[^ ]\)    # .*/\1/p' log >commands
  while read -r command; do
    eval "'$trainc' $command" >x.yaml 2>log && "$trainc" config --check --cfg x.yaml >/dev/null 2>&1 || fail "$dir: '$command'"
  done <commands
  mv log.all said
}
mkdir movies && cp -r "$(ls -d _s/train/* | head -1)" movies/posters && printf 'key,genre,year\n0000,drama,1990\n' >movies/data.csv
unsure movies "'posters' is its only folder of images.*there is also '.*data.csv'" ' --as folder'
grep -q "  trainc check --dataset csv --data-path .*movies    # images with classes listed in '.*data.csv'" said || { cat said; fail "the CSV is no reading"; }
cp -r movies films && k=0 && for f in films/posters/*; do f=${f##*/}; echo "${f%.*},$((k++ % 2))"; done | cat <(echo id,genre) - >films/data.csv
"$trainc" init films >films.yaml 2>log || fail "posters and a table"
is films.yaml DATASET csv
is films.yaml NUM_CLASSES 2
grep -q 'is not read' films.yaml && fail "the table of a data set is said not to be read"
mkdir -p "odd ones" && cp -r _s/train "odd ones/images" && cp -r _s/val "odd ones/extra" && mkdir -p parts/{images,extra} && cp _s/train/square/* parts/images && cp _s/train/circle/* parts/extra
unsure parts "'images' is a usual name for a part of a data set" ' --as folder'
_pairs 0 16 two/images two/masks && cp -r two/masks two/labels
unsure two "1 other folders could also be the images or label maps of 'images' and " ' --as pairs'
_pairs 0 16 like/photos_of_it like/masks && mv like/photos_of_it like/original
unsure like "'masks' may be the label maps of 'original'" ' --as folder'
"$trainc" init "odd ones" >x.yaml 2>log && fail "class folders within a folder"
expect_line "trainc init '.*odd ones/images'    # one folder per class"
_pairs 0 16 lossy/images lossy/masks && for f in lossy/masks/*; do cp "$(ls _s/train/*/* | head -1)" "${f%.png}.jpg" && rm "$f"; done
"$trainc" init lossy >x.yaml 2>log && fail "masks in JPEG are no label maps"
expect_line "label maps cannot be JPEG files, whose lossy compression changes class values (16 of 16, such as"
"$trainc" --data-path lossy --dataset pairs --train-split '' --val-split '' --model erfnet --num-classes 3 --output o --device cpu >log 2>&1 && fail "masks in JPEG train"
expect_line "label maps cannot be JPEG files"
layout_map_split_above split_above
# For label maps, an error about DATA.DATASET folder says so.
"$trainc" check --data-path split_above --model resnet20 --num-classes 2 >log 2>&1
expect_line "looks like DATA.DATASET pairs, not imagenet"

finish
