#!/bin/bash
# A tar archive of class folders, under any name, gives the same data set as the unpacked folders.
# Members next to an image give its class, as in WebDataset. Unused members are reported.
#
#   tests/e2e/members.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 3 --train 12 --val 3 --size 24 2>/dev/null || exit 1
images=(shapes/train/*/*)
end=.${images[0]##*.}
image() { mkdir -p "$(dirname "$2")" && cp "${images[$1]}" "$2"; } # NUMBER, PATH

# STORAGE PATH: prints what check reports about the training images.
check_split() {
  "$trainc" check --dataset "$1" --data-path "$2" -j 1 --img-size 16 --num-classes 3 >log 2>&1
  sed -n 's/^train: \([0-9]* images\).* pixels; \(.*\)/\1, \2/p' log
}

# NAME: folder u/train and its archive give the same data set.
same() {
  mkdir -p "$1"/{u/val,z,t} && cp -r "$1/u/train/." "$1/u/val"
  (cd "$1/u/train" && tar cf ../../t/train.tar . && zip -qr ../../z/train.zip .)
  cp "$1/t/train.tar" "$1/t/val.tar" && cp "$1/z/train.zip" "$1/z/val.zip"
  want=$(check_split folder "$1/u")
  for s in tar zip; do
    got=$(check_split $s "$1/${s:0:1}")
    if [ -z "$want" ] || [ "$got" != "$want" ]; then fail "$1 in $s: '$got', unpacked '$want'"; fi
  done
}

for i in 0 1 2 3; do image $i dots/u/train/cat/cat.$i$end; image $((i + 4)) dots/u/train/dog/dog.a.$i$end; done
same dots
for i in 0 1 2 3; do image $i two/u/train/cat/$i.jpg; image $((i + 4)) two/u/train/cat/$i.png; image $((i + 8)) two/u/train/dog/$i.JPG; done
same two
for i in 0 1 2; do image $i deep/u/train/n1/images/$i$end; image $((i + 3)) deep/u/train/n2/images/a/b/$i$end; image $((i + 6)) deep/u/train/n3/$i$end; done
same deep
for i in 0 1 2; do
  image $i rooms/u/train/cat/indoor/$i$end; image $((i + 3)) rooms/u/train/cat/outdoor/$i$end
  image $((i + 6)) rooms/u/train/dog/indoor/$i$end; image $((i + 9)) "rooms/u/train/dog/out door.x/$i$end"
done
mkdir -p rooms/u/train/cat/.cache && image 0 rooms/u/train/cat/.cache/x$end && image 1 rooms/u/train/cat/._0$end
same rooms

# The split's folder in the archive is not a class.
mkdir -p split/data && cp -r deep/u/train split/data/train && (cd split && tar cf train.tar data/train && cp train.tar val.tar)
[ "$(check_split tar split)" = "$(check_split folder deep/u)" ] || fail "a split's folder in a tar"

# NAME FILE...: makes a tar archive of these members in this order.
pack_tar() { (cd "$1/in" && shift && tar cf ../train.tar "$@" && cp ../train.tar ../val.tar && touch -d "1 minute ago" ../*.tar); } # old enough to be indexed

# A link counts as its target; other kinds of members are skipped, and one line says so.
for i in 0 1 2; do image $i links/in/a/$i.jfif; image $((i + 3)) links/in/b/$i$end; done
(cd links/in && ln a/0.jfif b/hard.jpg && ln -s ../a/1.jfif b/soft.jpg && ln -s ../../../x.jpg b/out.jpg && echo x >a/notes.doc && mkfifo a/fifo.jpg)
pack_tar links b a
[ "$(check_split tar links)" = "8 images, 2 classes of 3 ('a') to 5 ('b') images" ] || fail "links"
expect_line "skipping links to files that are not in the archive (1), such as 'b/out.jpg'"
expect_line "skipping members that are not a class or label map and do not end in .jpg, .* (1), such as 'a/notes.doc'"
expect_line "skipping members that are not files (1), such as 'a/fifo.jpg'"
check_split tar links >/dev/null
[ "$(grep -c "skipping" log)" -ge 3 ] || fail "what the index says is left out"

# NAME EXTENSION TEXT...: makes images 000, 001, ..., each with a text member.
samples() {
  local name=$1 ext=$2 i=0 order=()
  shift 2
  for text in "$@"; do
    key=$(printf %03d $i)
    image $i "$name/in/$key$end" && printf '%s' "$text" >"$name/in/$key$ext"
    order+=("$key$end" "$key$ext")
    i=$((i + 1))
  done
  pack_tar "$name" "${order[@]}"
}
expect() { [ "$(check_split tar "$1")" = "$2" ] || fail "$1: not '$2'"; } # NAME, WANTED

samples upper .CLS 0 1 2 0
expect upper "4 images, 3 classes of 1 ('1') to 2 ('0') images"
samples json .json '{"label": 0}' '{"cls": 1}' '{"class": 2.0}' '{"label": [0, 0, 1]}' 1
expect json "5 images, 3 classes of 1 ('0') to 2 ('1') images"
samples txt .txt 0 $'1\n' 2 ' 2 '
expect txt "4 images, 3 classes of 1 ('0') to 2 ('2') images"
samples words .cls cat dog cat 'a b'
expect words "4 images, 3 classes of 1 ('a b') to 2 ('cat') images"
samples one_bad .cls 0 1 2 x 1
expect one_bad "5 images, 3 classes of 1 ('0') to 2 ('1') images"
expect_line "^damaged .*003.*: its class 'x' is not in the data set"
samples all_bad .cls '' '' ''
[ -z "$(check_split tar all_bad)" ] && grep -q "no sample of 3 has a class; .*000.cls has no text, no class" log || fail "no .cls with a class"
samples other_json .json '{"caption": "x", "id": 3}' '{"caption": "y", "id": 4}'
[ -z "$(check_split tar other_json)" ] && grep -q "'000.json' has the keys 'caption', 'id': expected a class in 'label'" log || fail "JSON without a class"

# Names with dots next to their own class members; a sample with two images.
for i in 0 1 2; do image $i own/in/22.0$i$end; echo $i >own/in/22.0$i.cls; done
pack_tar own 22.00$end 22.00.cls 22.01$end 22.01.cls 22.02.cls 22.02$end
expect own "3 images, 3 classes of 1 images"
image 0 second/in/0.left$end; image 1 second/in/0.right$end; echo 1 >second/in/0.cls; echo 0 >second/in/9.cls; image 2 second/in/1$end; echo 0 >second/in/1.cls
pack_tar second 0.left$end 0.right$end 0.cls 1$end 1.cls 9.cls
[ "$(check_split tar second | cut -d, -f1)" = "2 images" ] || fail "a second image"
expect_line "skipping additional images of a sample (1), such as '0.right$end'"
expect_line "skipping classes and label maps without an image (1), such as '9.cls'"

# If two members have the same name, the later one wins.
image 0 twice/in/a/0$end; image 1 twice/in/a/1$end
pack_tar twice a/0$end a/1$end a/0$end
[ "$(check_split tar twice | cut -d, -f1)" = "2 images" ] || fail "a name twice"
expect_line "skipping members that a later member with the same name replaces (1), such as 'a/0$end'"

finish
