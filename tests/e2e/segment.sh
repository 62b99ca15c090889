#!/bin/bash
# Segmentation from end to end on generated images: ERFNet trains, first the encoder, then the
# full model; a killed run ends with the same file; `trainc eval` reproduces the validation
# scores; predict writes label maps; validation images are written and removed.
#
#   tests/e2e/segment.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

common=(--cfg "$here/configs/smoke/segment.yaml" --output out --device cpu)

# Trains the encoder, then the full model from its weights.
"$trainc" "${common[@]}" --model erfnet_encoder --epochs 1 --result encoder.json >log 2>&1 ||
  fail "encoder stage"
full=("${common[@]}" --pretrained out/erfnet_encoder/default/last.safetensors)
"$trainc" "${full[@]}" >log 2>&1 && fail "an encoder passed for the full net"
grep -q "decoder.layers.0.conv.weight: not in the file" log || fail "what is missing is not said"
rm -rf out/erfnet
full+=(--opts "MODEL.PRETRAINED_SKIP=['decoder.*']" PRINT_FREQ=1 TRAIN.SAVE_STEPS=5)
"$trainc" "${full[@]}" --result train.json >log 2>&1 || fail "full stage"
grep -q "SKIP ignores [0-9]*: .*decoder.*, ... (LOG.LEVEL debug" log || fail "fresh ones are not said"
[ "$(grep -c pretrained log)" -le 6 ] || fail "a line for each tensor"
run=out/erfnet/default
first=$(awk -F, 'NR == 2 {print $2}' $run/summary.csv)
last=$(awk -F, 'END {print $2}' $run/summary.csv)
above "$first" "$last" || fail "the loss went from $first to $last"
head -1 $run/summary.csv | grep -q "val_miou.*iou_class000004" || fail "summary.csv lacks classes"
echo "ok: two stages"

# Different classes: the classifiers of the model and of the encoder stage are reinitialized.
"$trainc" "${common[@]}" --tag other --num-classes 4 --epochs 1 --max-steps 2 \
  --pretrained $run/last.safetensors >log 2>&1 || fail "other classes"
for name in decoder.output_conv.weight encoder.output_conv.bias; do
  grep -q "pretrained: $name: .*: reinitialized" log || fail "other classes: $name"
done
echo "ok: other classes"

# Each evaluation writes its images.
for epoch in 000 001 002; do
  for n in 0 1; do
    [ -s $run/images/epoch${epoch}_$n.png ] || fail "no image $n of epoch $epoch"
  done
done
echo "ok: images"

# The run is killed and restarted.
mv $run undisturbed
"$trainc" "${full[@]}" >log 2>&1 &
pid=$!
reached $run 17 $pid
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
"$trainc" "${full[@]}" --result again.json >log 2>&1 || fail "does not resume"
grep -q "resumed from" log || fail "did not resume"
cmp -s $run/last.safetensors undisturbed/last.safetensors || fail "resumed: other weights"
same_values train.json again.json val_loss val_miou ema_miou val_fwiou
cut -d, -f1-12 $run/summary.csv | cmp -s - <(cut -d, -f1-12 undisturbed/summary.csv) ||
  fail "resumed: another summary.csv"
# Restarting a finished run gives the same result, except for times, speeds, and memory.
known() { sed '/"data_stage_seconds"/,/}/d' "$1" | grep -v '_seconds"\|per_second"\|_bytes"'; }
"$trainc" "${full[@]}" --result over.json >log 2>&1 || fail "started again when it was over"
grep -q "epochs are already done" log || fail "it was not over"
known again.json | grep -q '"class000004": 0' || fail "no IoU of the classes"
diff <(known again.json) <(known over.json) || fail "started again when it was over: another result"
grep -q '"images_per_second": null' over.json || fail "started again when it was over: a speed of nothing"
[ -s $run/images/epoch000_1.png ] || fail "resumed: the images of the first epoch are gone"
echo "ok: resume"

# Evaluation reproduces validation.
"$trainc" eval "${common[@]}" --resume $run/last.safetensors --result eval.json --report report >log 2>&1 ||
  fail "eval"
grep -q '"pixels": ' report/report.json && [ -s report/confusion.png ] && [ ! -e report/worst.csv ] &&
  head -1 report/classes.csv | grep -q "^class,pixels," || fail "eval --report"
awk -v a="$(json_value report/report.json accuracy)" -v b="$(json_value eval.json ema_acc)" \
  'BEGIN {d = a - b; exit !(a > 0 && d * d < 1e-8)}' || fail "eval --report: another accuracy"
same_values train.json eval.json val_loss val_acc val_class_acc val_miou val_fwiou ema_miou
[ -s $run/images/eval_1.png ] && grep -q "images written to '$run/images'" log || fail "eval: no images"
touch $run/images/eval_{7,10,x}.png # of an evaluation with more images; x is not trainc's
"$trainc" eval "${common[@]}" --resume $run/last.safetensors >log 2>&1 || fail "eval again"
[ "$(cd $run/images && echo eval*)" = "eval_0.png eval_1.png eval_x.png" ] ||
  fail "eval: images of one before: $(cd $run/images && echo eval*)"
touch no_folder
"$trainc" eval "${common[@]}" --resume $run/last.safetensors --output no_folder >log 2>&1 ||
  fail "eval without a folder for images"
[ "$(grep -c "no images: cannot make the folder 'no_folder/.*'" log)" = 1 ] && ! grep -q "images are in" log ||
  fail "eval without a folder for images: what is said"
mkdir -p taken/erfnet/default/images/eval_{0,1}.png
"$trainc" eval "${common[@]}" --resume $run/last.safetensors --output taken >log 2>&1 ||
  fail "eval without places for images"
[ "$(grep -c "cannot write 'taken/.*/eval_[01].png'" log)" = 2 ] && ! grep -q "images are in" log ||
  fail "eval without places for images: what is said"
echo "ok: eval"

# A new run removes the images and metrics of a longer one before it; a resumed run keeps those of
# finished epochs.
short=("${common[@]}" --tag short --epochs 3 --max-steps 14)
mkdir -p out/erfnet/short/images
touch out/erfnet/short/images/{epoch000_{0,9},epoch002_0,epoch1000_0,epoch02_0,epoch}.png
for again in 1 2; do
  "$trainc" "${short[@]}" >log 2>&1 || fail "a short run"
  [ "$(cd out/erfnet/short/images && echo *)" = \
    "epoch.png epoch000_0.png epoch000_1.png epoch001_0.png epoch001_1.png epoch02_0.png" ] ||
    fail "a short run: $(cd out/erfnet/short/images && echo *)"
  [ -s out/erfnet/short/images/epoch000_0.png ] || fail "a short run: an empty image"
done
touch out/erfnet/short/images/epoch00{1,2}_5.png
"$trainc" "${short[@]}" >log 2>&1 || fail "a short run, again"
[ -e out/erfnet/short/images/epoch001_5.png ] && [ ! -e out/erfnet/short/images/epoch002_5.png ] ||
  fail "a short run, again: $(cd out/erfnet/short/images && echo *)"
echo "ok: images of an earlier run"

# Resuming does not need MODEL.PRETRAINED's file.
mv out/erfnet_encoder gone
"$trainc" "${full[@]}" >log 2>&1 || fail "does not resume without MODEL.PRETRAINED's file"
"$trainc" eval "${full[@]}" --resume $run/last.safetensors --result eval.json >log 2>&1 ||
  fail "eval without MODEL.PRETRAINED's file"
same_values train.json eval.json val_loss steps epochs
"$trainc" "${full[@]}" --tag new >log 2>&1
[ $? = 2 ] && grep -q "MODEL.PRETRAINED: file '.*' not found" log || fail "a new run without its weights"
mv gone out/erfnet_encoder
echo "ok: moved"

# A PPM file in two colors: label map and overlay have its size.
{ printf 'P6 100 60 255\n'; head -c 9000 /dev/zero; head -c 9000 /dev/zero | tr '\0' '\377'; } >two.ppm
"$trainc" predict "${common[@]}" --weights $run/best.safetensors --out images two.ppm >log 2>&1 ||
  fail "predict"
for what in labels overlay; do
  size=$(od -An -tu1 -j16 -N8 images/two_$what.png | tr -s ' ')
  [ "$size" = " 0 0 0 100 0 0 0 60" ] || fail "two_$what.png is $size"
done
# Images with the same name in different folders do not collide.
mkdir -p many/a many/b && cp two.ppm many/a && cp two.ppm many/b && cp two.ppm many/one.ppm
"$trainc" predict "${common[@]}" --weights $run/best.safetensors --out found many >log 2>&1 ||
  fail "predict of a folder"
[ "$(cd found && echo * a/* b/*)" = "a b one_labels.png one_overlay.png \
a/two_labels.png a/two_overlay.png b/two_labels.png b/two_overlay.png" ] || fail "predict of a folder: files"
cmp -s found/b/two_labels.png images/two_labels.png || fail "predict of a folder: labels"
for again in 1 2; do # predict does not read its own output images
  "$trainc" predict "${common[@]}" --weights $run/best.safetensors --out many/out many >log 2>&1 ||
    fail "predict into its own folder"
done
[ "$(find many/out -name '*_labels.png' | wc -l)" = 3 ] || fail "predict took its own images"
rm -r many/out
"$trainc" predict "${common[@]}" --weights $run/best.safetensors --out found two.ppm many/a/two.ppm \
  >log 2>&1
[ $? = 2 ] && grep -q "'two.ppm' and 'many/a/two.ppm' would share" log || fail "two images of one name"
"$trainc" predict "${common[@]}" --weights $run/best.safetensors >log 2>&1 && fail "no image passed"
"$trainc" predict "${common[@]}" --weights $run/best.safetensors --server-ids two.ppm >log 2>&1 &&
  fail "ids without Cityscapes' classes passed"
"$trainc" predict "${common[@]}" --num-classes 6 --weights $run/best.safetensors two.ppm >log 2>&1 &&
  fail "weights of another head passed"
echo "ok: predict"

# Cityscapes' layout and recipe: a minute of training is enough to learn something.
"$trainc" synth scenes --out scenes --train 64 --val 8 --size 96 >log 2>&1 || fail "synth"
scenes=("$trainc" --cfg "$here/configs/erfnet.yaml" --data-path scenes --output out --tag scenes
  --device cpu --epochs 8 --lr 0.002 -b 4 --log-images 1
  --opts DATA.IMG_WIDTH=96 DATA.IMG_HEIGHT=48 TRAIN.EVAL_FREQ=4)
"${scenes[@]}" --result scenes.json >log 2>&1 || fail "scenes"
above "$(json_value scenes.json val_miou)" 0.25 || fail "scenes: mIoU $(json_value scenes.json val_miou)"
above "$(json_value scenes.json val_acc)" 0.75 || fail "scenes: accuracy $(json_value scenes.json val_acc)"
"${scenes[@]}" >more.log 2>&1 || { cat more.log; fail "scenes: again"; }
grep -q "other class weights" more.log && fail "the same class weights are others"
labels=(scenes/gtFine/train/*/*_labelIds.png)
cp "${labels[0]}" "${labels[1]}"
"${scenes[@]}" >more.log 2>&1 || { cat more.log; fail "scenes: other labels"; }
grep -q "was trained with different class weights" more.log || fail "no warning about other class weights"
rm -r scenes/leftImg8bit/train scenes/gtFine/train
"$trainc" eval --cfg "$here/configs/erfnet.yaml" --data-path scenes --device cpu \
  --resume out/erfnet/scenes/last.safetensors --output eval --result scenes_eval.json -b 4 \
  --opts DATA.IMG_WIDTH=96 DATA.IMG_HEIGHT=48 >eval.log 2>&1 ||
  { cat eval.log; fail "eval without training images"; }
same_values scenes.json scenes_eval.json val_loss val_miou
# So does an evaluation of exported weights, which include the classes and the class weights.
"$trainc" export --weights out/erfnet/scenes/last.safetensors --raw --out alone.safetensors \
  >alone.log 2>&1 || { cat alone.log; fail "export"; }
alone=(--cfg "$here/configs/erfnet.yaml" --data-path scenes --device cpu --output eval)
wide=(DATA.IMG_WIDTH=96 DATA.IMG_HEIGHT=48)
"$trainc" eval "${alone[@]}" --pretrained alone.safetensors --result alone.json -b 4 --opts "${wide[@]}" \
  >alone.log 2>&1 || { cat alone.log; fail "eval of exported weights"; }
same_values scenes.json alone.json val_loss val_miou
image=$(ls scenes/leftImg8bit/val/*/*.png | head -1)
names=$(printf "'c%d'," {1..20})
"$trainc" predict "${alone[@]}" --weights alone.safetensors --out found "$image" --opts "${wide[@]}" \
  DATA.CLASS_SET= "DATA.CLASS_NAMES=[${names%,}]" DATA.LABELS=ids >alone.log 2>&1 && fail "predict with other classes"
grep -q "set DATA.CHECK_CLASSES False" alone.log || { cat alone.log; fail "predict does not say that classes differ"; }
grep -q "the means are over .* of 20 classes: no pixel is .*void" log || fail "absent classes"
echo "ok: scenes"

# The same weights on larger images, for which libraries use other kernels.
for amp in amp no-amp; do
  "$trainc" eval --cfg "$here/configs/erfnet.yaml" --data-path scenes --device cpu --$amp \
    --resume out/erfnet/scenes/last.safetensors --output eval --result $amp.json -b 4 \
    --opts DATA.IMG_WIDTH=512 DATA.IMG_HEIGHT=256 >eval.log 2>&1 || { cat eval.log; fail "eval --$amp"; }
done
awk -v a="$(json_value amp.json val_loss)" -v b="$(json_value no-amp.json val_loss)" \
  'BEGIN {exit !(b > 0 && a / b > 0.98 && a / b < 1.02)}' ||
  fail "loss $(json_value amp.json val_loss) with AMP, $(json_value no-amp.json val_loss) without"
echo "ok: precisions"

# An unreadable image does not count as evaluated.
echo text >"$image"
"$trainc" eval --cfg "$here/configs/erfnet.yaml" --data-path scenes --device cpu -b 4 --output eval \
  --resume out/erfnet/scenes/last.safetensors --opts "${wide[@]}" DATA.MAX_BAD_SHARE=0.5 >eval.log 2>&1 ||
  { cat eval.log; fail "eval with a damaged image"; }
grep -q "(7 images," eval.log || fail "a damaged image counts: $(grep images, eval.log)"
echo "ok: a damaged image"

finish
