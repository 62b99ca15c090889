# Image layouts for tests of trainc init. Source it, then call:
#
#   layouts_begin TRAINC        in an empty folder; makes the images that all layouts use
#   layout_NAME DIR             makes the layout in DIR; $layouts lists all names
#
# "class" layouts have one class per image, "map" layouts have label maps.
# shellcheck shell=bash

layouts_begin() {
  "$1" synth shapes --out _s --classes 3 --train 36 --val 9 --size 32 >/dev/null 2>&1 || return 1
  "$1" synth shapes --out _t --classes 2 --train 12 --val 4 --size 8 >/dev/null 2>&1 || return 1
  "$1" synth scenes --out _c --train 16 --val 4 >/dev/null 2>&1 || return 1
  mkdir -p _p/{image,map}
  local f n
  for f in _c/leftImg8bit/train/*/*.png; do
    n=$(basename "$f" _leftImg8bit.png)
    cp "$f" "_p/image/$n.png"
    cp "$(dirname "${f/leftImg8bit/gtFine}")/${n}_gtFine_labelIds.png" "_p/map/$n.png"
  done
  layouts_trainc=$1
  mapfile -t _stems < <(cd _p/image && ls | sed 's/\.png$//')
}

# FROM TO IMAGES MAPS [ENDING]: distributes stems FROM to TO - 1 over two folders.
_pairs() {
  local k n
  mkdir -p "$3" "$4"
  for ((k = $1; k < $2; k++)); do
    n=${_stems[k]}
    cp "_p/image/$n.png" "$3/" && cp "_p/map/$n.png" "$4/$n${5:-}.png"
  done
}
# IMAGES MAPS VALUE VALUE: writes 12 masks of two values, and gray images, as PGM files.
_masks() {
  local k a b
  mkdir -p "$1" "$2"
  a=$(printf "\\\\x%02x" "$3") b=$(printf "\\\\x%02x" "$4")
  for k in {1..12}; do
    { printf 'P5\n32 32\n255\n'; head -c 1024 /dev/urandom; } >"$1/$k.pgm"
    { printf 'P5\n32 32\n255\n'; head -c 512 /dev/zero | sed "s/\\x00/$a/g"; head -c 512 /dev/zero | sed "s/\\x00/$b/g"; } >"$2/$k.pgm"
  done
}
_pgm() { # FILE SIDE
  mkdir -p "$(dirname "$1")" && { printf 'P5\n%d %d\n255\n' "$2" "$2"; head -c $(($2 * $2)) /dev/urandom; } >"$1"
}
# DIR SPLIT...: writes lists of the files in _s that are below DIR.
_list() {
  local dir=$1 split c k
  shift
  mkdir -p "$dir" && cp -r _s "$dir/i"
  for split; do
    k=0
    for c in "$dir/i/$split"/*; do
      (cd "$dir" && for f in "${c#"$dir"/}"/*; do printf '%s\t%s\n' "$f" "$([ "${names:-}" ] && basename "$c" || echo $k)"; done)
      k=$((k + 1))
    done >"$dir/$split.txt"
  done
}
_pack() { "$layouts_trainc" pack --data-path _s --to "$2" --out "$1" --model resnet20 --num-classes 3 >/dev/null 2>&1; }

# One class per image.
layout_class_split() { cp -r _s "$1"; }
layout_class_flat() { cp -r _s/train "$1"; }
layout_class_training() { mkdir "$1" && cp -r _s/train "$1/training"; }
layout_class_test() { mkdir "$1" && cp -r _s/train "$1/train" && cp -r _s/val "$1/test"; }
layout_class_capitals() { mkdir "$1" && cp -r _s/train "$1/Train" && cp -r _s/val "$1/Validation"; }
layout_class_sets() { mkdir "$1" && cp -r _s/train "$1/training_set" && cp -r _s/val "$1/test_set"; }
layout_class_three() { cp -r _s "$1" && cp -r _s/val "$1/test"; }
layout_class_mac() { cp -r _s "$1" && mkdir -p "$1"/{,train/,val/}__MACOSX && touch "$1"/train/__MACOSX/._a.jpg "$1/.DS_Store"; }
layout_class_nas() { cp -r _s/train "$1" && mkdir -p "$1"/{@eaDir,.git,.ipynb_checkpoints} && touch "$1/Thumbs.db" "$1/@eaDir/x.jpg"; }
layout_class_deep() { cp -r _s "$1" && for c in "$1"/*/*; do mkdir -p "$c/a/b" && mv "$c"/*[13579].* "$c/a/b"; done; }
# PREFIX IMAGES: writes IDX files of 8 x 8 images and of their classes, 0 to 9.
_idx() {
  { printf '\0\0\10\3\0\0\0\'"$(printf %o "$2")"'\0\0\0\10\0\0\0\10'; head -c $((64 * $2)) /dev/urandom; } >"$1-images-idx3-ubyte"
  { printf '\0\0\10\1\0\0\0\'"$(printf %o "$2")"; for ((k = 0; k < $2; k++)); do printf "\\$((k % 10 / 8))$((k % 10 % 8))"; done; } >"$1-labels-idx1-ubyte"
}
layout_class_mnist() { mkdir -p "$1/MNIST/raw" && _idx "$1/MNIST/raw/train" 60 && _idx "$1/MNIST/raw/t10k" 20 && gzip "$1"/MNIST/raw/t10k-*; }
layout_class_cifar() {
  local d=$1/cifar-10-batches-bin n
  mkdir -p "$d"
  for n in data_batch_{1..5} test_batch; do
    for k in {0..9}; do printf "\\$((k / 8))$((k % 8))"; head -c 3072 /dev/urandom; done >"$d/$n.bin"
  done
}
layout_class_uneven() { cp -r _s "$1" && rm "$1/train/$(ls _s/train | head -1)"/*[1-9].*; }
layout_class_and_csv() { cp -r _s/train "$1" && echo 'id,label' >"$1/metadata.csv"; }
layout_class_few() { mkdir "$1" && for c in a b; do mkdir "$1/$c" && cp "$(ls -d _s/train/* | head -1)"/0000.* "$1/$c/$c.jpg"; done; }
layout_class_names() { mkdir "$1" && local k=0 c && for c in 'with space' 'hoa cúc' "it's"; do cp -r "$(ls -d _s/train/* | sed -n $((++k))p)" "$1/$c"; done; }
layout_class_masked() { mkdir "$1" && cp -r "$(ls -d _s/train/* | head -1)" "$1/with_mask" && cp -r "$(ls -d _s/train/* | tail -1)" "$1/without_mask"; }
layout_class_tiny() { cp -r _t "$1"; }
layout_class_digits() { local c k && for c in {0..9}; do for k in {1..6}; do _pgm "$1/$c/$k.pgm" 8; done; done; }
layout_class_digit_splits() { local s c k && for s in train val; do for c in {0..9}; do for k in {1..3}; do _pgm "$1/$s/$c/$k.pgm" 8; done; done; done; }
layout_class_gray() { local s c k && for s in train val; do for c in a b; do for k in {1..4}; do _pgm "$1/$s/$c/$k.pgm" 90; done; done; done; }
layout_class_many() { local c && for c in {1..60}; do _pgm "$1/class$c/1.pgm" 8 && _pgm "$1/class$c/2.pgm" 8; done; }
layout_class_numbers() { _list "$1" train val; }
layout_class_listed() { names=y _list "$1" train val && ls _s/train >"$1/classes.txt"; }
layout_class_tar() { _pack "$1" tar; }
layout_class_zip() { _pack "$1" zip; }
layout_class_decoded() { _pack "$1" decoded; }
layout_class_recordio() { _pack "$1" recordio; }
layout_class_tfrecord() { _pack "$1" tfrecord; }

# Label maps.
layout_map_cityscapes() { cp -r _c "$1"; }
layout_map_voc() {
  local part k
  _pairs 0 16 "$1/JPEGImages" "$1/SegmentationClass"
  mkdir -p "$1/ImageSets/Segmentation"
  (cd "$1" && for k in JPEGImages/*.png; do mv "$k" "${k%.png}.jpg"; done)
  rm "$1"/SegmentationClass/*.png
  for k in "${_stems[@]}"; do # VOC has 21 classes
    { printf 'P5\n128 64\n255\n'; head -c 4096 /dev/zero; head -c 4096 /dev/zero | tr '\0' '\17'; } >"$1/SegmentationClass/$k.png"
  done
  printf '%s\n' "${_stems[@]:0:12}" >"$1/ImageSets/Segmentation/train.txt"
  printf '%s\n' "${_stems[@]:12}" >"$1/ImageSets/Segmentation/val.txt"
}
layout_map_plain() { _pairs 0 16 "$1/images" "$1/masks" _mask; }
layout_map_img() { _pairs 0 16 "$1/img" "$1/mask"; }
layout_map_imgs() { _pairs 0 16 "$1/imgs" "$1/labels" _L; }
layout_map_image() { _pairs 0 16 "$1/image" "$1/gt" _GT; }
layout_map_data() { _pairs 0 16 "$1/data" "$1/annotation" _seg; }
layout_map_capitals() { _pairs 0 16 "$1/Images" "$1/Labels"; }
layout_map_jpegimages() { _pairs 0 16 "$1/JPEGImages" "$1/SegmentationClass"; }
layout_map_split_above() { _pairs 0 12 "$1"/train/{images,masks} && _pairs 12 16 "$1"/val/{images,masks}; }
layout_map_split_below() { _pairs 0 12 "$1"/{images,annotations}/training && _pairs 12 16 "$1"/{images,annotations}/validation; }
layout_map_test() { _pairs 0 12 "$1"/train/{image,label} && _pairs 12 16 "$1"/test/{image,label}; }
layout_map_membrane() { _masks "$1"/train/{image,label} 0 255 && mkdir -p "$1"/{train/aug,test} && cp "$1"/train/image/1.pgm "$1/test/0.pgm"; }
layout_map_carvana() { _masks "$1"/train{,_masks} 0 255; }
layout_map_binary() { _masks "$1"/{images,masks} 0 255; }
layout_map_ones() { _masks "$1"/{images,masks} 0 1; }
layout_map_prepped() { _pairs 0 12 "$1"/{images,annotations}_prepped_train && _pairs 12 16 "$1"/{images,annotations}_prepped_test; }
layout_map_annot() { _pairs 0 12 "$1"/train{,annot} && _pairs 12 16 "$1"/val{,annot}; }
layout_map_mmseg() { _pairs 0 12 "$1"/{img,ann}_dir/train && _pairs 12 16 "$1"/{img,ann}_dir/val; }
layout_map_years() { _pairs 0 12 "$1"/{images,annotations}/train2017 && _pairs 12 16 "$1"/{images,annotations}/val2017; }
layout_map_nested() { _pairs 0 6 "$1"/{images,labels}/train/a && _pairs 6 12 "$1"/{images,labels}/train/b && _pairs 12 16 "$1"/{images,labels}/val/b; }
layout_map_mac() { _pairs 0 16 "$1"/{images,masks} && mkdir -p "$1"/{__MACOSX,images/.git,masks/@eaDir} && touch "$1/masks/Thumbs.db"; }
layout_map_some() { _pairs 0 16 "$1"/{images,masks} && rm "$1/masks/${_stems[3]}.png"; }
# Side by side: FROM TO FOLDER ENDING.
_neighbors() {
  local k n
  mkdir -p "$3"
  for ((k = $1; k < $2; k++)); do
    n=${_stems[k]}
    cp "_p/image/$n.png" "$3/$n.png" && cp "_p/map/$n.png" "$3/$n$4.png"
  done
}
layout_map_side() { _neighbors 0 16 "$1" _mask; }
layout_map_side_splits() { _neighbors 0 12 "$1/train" _label && _neighbors 12 16 "$1/val" _label; }
layout_map_side_train() { _neighbors 0 12 "$1/train" _seg && mkdir "$1/test" && cp "_p/image/${_stems[13]}.png" "$1/test"; }
layout_map_side_cases() { _neighbors 0 5 "$1/a1" _gt && _neighbors 5 10 "$1/b2" _gt && _neighbors 10 16 "$1/c3" _gt; }
layout_map_side_below() { _neighbors 0 12 "$1/images/train" -mask && _neighbors 12 16 "$1/images/val" -mask; }
layout_map_side_sat() { # as DeepGlobe's: 1_sat.png and 1_mask.png
  _neighbors 0 16 "$1/train" _mask
  local k && for k in "${_stems[@]}"; do mv "$1/train/$k.png" "$1/train/${k}_sat.png"; done
}
layout_map_side_carvana() { _masks "$1/train" "$1/m" 0 255 && local k && for k in {1..12}; do mv "$1/m/$k.pgm" "$1/train/${k}_mask.pgm"; done && rmdir "$1/m"; }
# Masks of three classes and void, as values (void is 255) or as colors (void is black).
_regions() { local c && for c in a b c d; do head -c 256 /dev/zero | tr '\0' $c; done; } # 32 x 32
layout_map_values() {
  local k
  mkdir -p "$1"/{images,masks}
  for k in {1..12}; do
    { printf 'P5\n32 32\n255\n'; head -c 1024 /dev/urandom; } >"$1/images/$k.pgm"
    { printf 'P5\n32 32\n255\n'; _regions | tr abcd '\0\1\2\377'; } >"$1/masks/$k.pgm"
  done
}
layout_map_colors() {
  local k
  layout_map_values "$1" && rm "$1"/masks/*
  for k in {1..12}; do
    { printf 'P6\n32 32\n255\n'; _regions | LC_ALL=C sed 's/a/\x80\x40\x80/g; s/b/\x40\x00\xc0/g; s/c/\xff\x80\x01/g; s/d/\x00\x00\x00/g'; } >"$1/masks/$k.ppm"
  done
}
layout_map_list() {
  _pairs 0 16 "$1"/x "$1"/y
  printf 'x/%s.png\n' "${_stems[@]}" | paste -d' ' - <(printf 'y/%s.png\n' "${_stems[@]}") >"$1/train.txt"
  head -3 "$1/train.txt" >"$1/val.txt"
}
layout_map_lists() {
  _pairs 0 16 "$1"/x "$1"/y
  local s
  for s in train val; do
    printf 'x/%s.png\n' "${_stems[@]}" >"$1/${s}Images.txt"
    printf 'y/%s.png\n' "${_stems[@]}" >"$1/${s}Labels.txt"
  done
}
layout_map_zip() { "$layouts_trainc" pack --data-path _c --dataset cityscapes --model erfnet --num-classes 34 --class-set cityscapes34 --to zip --out "$1" >/dev/null 2>&1; }

mapfile -t layouts < <(declare -F | sed -n 's/^declare -f layout_//p')
