#!/bin/bash
# Color-coded label maps (DATA.CLASS_COLORS) give the same data as label maps of class indices in
# init, check, train, eval, predict, and pack; unknown colors are reported.
#
#   tests/e2e/colors.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
. "$here/tests/e2e/layouts.bash"

value() { sed -n "s/^ *$2: \([^#]*[^# ]\) *#.*/\1/p" "$1" | head -1; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is '$(value "$1" "$2")', not '$3'"; }
run() { # NAME, then options
  local name=$1
  shift
  "$trainc" "$@" --output "out.$name" --device cpu --threads 1 --opts TRAIN.MAX_STEPS 2 SEED 1 DATA.BATCH_SIZE 2 >"$name.log" 2>&1 || { cat "$name.log"; fail "$name: it does not train"; }
}

# Two copies of a data set: label maps with values 0, 1, 2, and 255, and in color (void is black).
layouts_begin "$trainc" || exit 1
for s in train val; do
  layout_map_values values/$s && layout_map_colors colors/$s && cp values/$s/images/* colors/$s/images/ || exit 1
done
"$trainc" init values >values.yaml 2>log || fail "init values"
"$trainc" init colors >colors.yaml 2>log || fail "init colors"
is colors.yaml NUM_CLASSES 4
is colors.yaml CLASS_COLORS '[[0, 0, 0], [64, 0, 192], [128, 64, 128], [255, 128, 1]]'
is colors.yaml CLASS_NAMES ''
printf '128 64 128\tRoad\n64 0 192\tHigh car\n255 128 1\tSky: blue\n0 0 0\tVoid\n' >colors/label_colors.txt
"$trainc" init colors >colors.yaml 2>log || fail "init with a file of colors"
is colors.yaml NUM_CLASSES 3
is colors.yaml CLASS_COLORS '[[128, 64, 128], [64, 0, 192], [255, 128, 1]]'
is colors.yaml CLASS_NAMES "[Road, 'High car', 'Sky: blue']"
is colors.yaml IGNORED_COLORS '[[0, 0, 0]]'
grep -q "CLASS_NAMES: .*# from 'label_colors.txt'" colors.yaml || fail "nothing says where the names are from"
for c in values colors; do
  "$trainc" config --check --cfg $c.yaml >log 2>&1 && [ ! -s log ] || fail "$c: the configuration is not clean"
  "$trainc" check --cfg $c.yaml >log 2>&1 || fail "$c: check"
  run $c --cfg $c.yaml
done
same() { # A B: compares the scores in two logs
  diff <(grep -o 'mIoU.*loss [0-9.]*' "$1") <(grep -o 'mIoU.*loss [0-9.]*' "$2") && grep -q mIoU "$1"
}
same values.log colors.log || fail "colors and values train differently"
best=$(find out.colors -name '*.safetensors' | head -1)
"$trainc" eval --resume "$best" --device cpu >eval.log 2>&1 || { cat eval.log; fail "eval"; }
grep -q "$(grep -o '\* mIoU [0-9.]*' colors.log | tail -1 | cut -c3-)" eval.log || { cat eval.log; fail "eval scores something else"; }
# Colors from a file, in hexadecimal, and by reference to a class on another line.
run file --data-path colors --dataset pairs --model erfnet --num-classes 4 --opts "DATA.CLASS_COLORS=[label_colors.txt]" DATA.IMG_WIDTH 32 DATA.IMG_HEIGHT 32
grep -q 'Sky: blue' file.log || { cat file.log; fail "the names of the file"; }
run hex --cfg colors.yaml --opts "DATA.CLASS_COLORS=['#804080', '#4000c0', '#ff8001']"
same hex.log colors.log || fail "hexadecimal colors"
# Predicted label maps have the class colors as their PNG palette.
"$trainc" predict --weights "$best" --device cpu --out p colors/val/images >log 2>&1 || fail "predict"
LC_ALL=C grep -qaP 'PLTE\x80\x40\x80\x40\x00\xc0\xff\x80\x01' p/*.png || { ls p; fail "predict paints other colors"; }
# Packed label maps hold class indices.
"$trainc" pack --cfg colors.yaml --to zip --out packed --label-maps >log 2>&1 && grep -q 'label maps as class indices' log || fail "pack"
run packed --cfg values.yaml --data-path packed --dataset zip
same packed.log colors.log || fail "packed colors train differently"

# The color file may be CSV.
mv colors/label_colors.txt colors/label_colours.txt
"$trainc" init colors >british.yaml 2>log && grep -q "CLASS_NAMES: .*# from 'label_colours.txt'" british.yaml ||
  fail "init with label_colours.txt, the name in other releases of CamVid"
rm colors/label_colours.txt && printf 'name,r,g,b\nRoad,128,64,128\nCar,64,0,192\nSky,255,128,1\nvoid,0,0,0\n' >colors/class_dict.csv
"$trainc" init colors >csv.yaml 2>log || fail "init with class_dict.csv"
is csv.yaml CLASS_NAMES '[Road, Car, Sky]'
grep -q 'is not read' csv.yaml && { head csv.yaml; fail "class_dict.csv is said not to be read"; }

# Errors.
"$trainc" check --cfg colors.yaml --opts "DATA.IGNORED_COLORS=[]" >log 2>&1 && fail "check: unknown colors pass"
grep -q "masks/1.ppm': the color #000000 at pixel (x [0-9]*, y [0-9]*) is no class: [0-9]* pixels have it" log || fail "check: the unknown color"
"$trainc" check --cfg colors.yaml --opts "DATA.IGNORED_COLORS=[others]" >log 2>&1 || fail "check: others are ignored"
refused() { refuses "$1" "$trainc" --cfg colors.yaml --output o --device cpu "${@:2}"; } # PATTERN OPTION...
refused "DATA.CLASS_COLORS has 3 classes, but MODEL.NUM_CLASSES is 5" --num-classes 5
refused "leave one of them empty" --opts DATA.CLASS_SET=camvid11
refused "duplicate color" --opts "DATA.CLASS_COLORS=[[1, 2, 3], [1, 2, 3], [0, 0, 1]]"
refused "item 0 is not a color such as" --opts "DATA.CLASS_COLORS=[[1, 2], [1, 2, 3], [0, 0, 1]]"
refused "cannot read '.*nowhere.txt'" --opts "DATA.CLASS_COLORS=nowhere.txt,"
"$trainc" --cfg values.yaml --output o --device cpu --opts TRAIN.MAX_STEPS=1 "DATA.IGNORED_COLORS=[others]" >log 2>&1
grep -q "DATA.IGNORED_COLORS has no effect" log || fail "IGNORED_COLORS without CLASS_COLORS: no warning"
layout_map_plain noise && for f in noise/masks/*; do { printf 'P6\n32 32\n255\n'; head -c 3072 /dev/urandom; } >"${f%.png}.ppm" && rm "$f"; done
"$trainc" init noise >x.yaml 2>log && fail "noise is a label map"
grep -q "more than 64 colors in the label maps" log || fail "init: too many colors"

finish
