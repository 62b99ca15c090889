#!/bin/bash
# MODEL.TASK regression and ordinal: numbers and ordered classes in the noise of small images are
# learned; scores are those of the predictions; checkpoints hold the units of the targets; resuming
# changes nothing; several ranks, background validation, ensembles, and exports agree; errors are one
# line that names the file and the line.
#
#   tests/e2e/regression.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

base=("$trainc" train --model resnet20 --img-size 16 --batch-size 16 --device cpu --output out)
train() { # TAG [ARGUMENT...]
  "${base[@]}" --data-path sky --dataset csv --task regression --opts AUG.HFLIP 0.0 AUG.COLOR_JITTER 0.0 \
    AUG.AUTO_AUGMENT none --label-column lux,tilt --tag "$1" "${@:2}" >log 2>&1
}
order() { # TAG [ARGUMENT...]
  "${base[@]}" --data-path grades --task ordinal --tag "$1" "${@:2}" >log 2>&1
}
score() { # TAG NAME: prints the last epoch's score, of the EMA weights if there are any
  awk -F, -v n="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    END { v = $at["ema_" n]; print v == "" ? $at["val_" n] : v }' "out/resnet20/$1/summary.csv"
}

# Noise images: their brightness is `lux` (500 to 800), and how it rises from left to right `tilt` (-1 to 1).
# The folders of `grades` are four ranges of brightness, whose order is not that of their names.
mkdir -p sky/train sky/val
images() { # SPLIT N
  LC_ALL=C awk -v part="$1" -v n="$2" 'BEGIN {
    srand(n); split("none mild severe worst", name, " "); print "image,lux,tilt" >("sky/" part ".csv")
    for (i = 0; i < n; i++) {
      file = part "/" i ".ppm"; b = rand(); t = rand() * 2 - 1
      to = "grades/" part "/" name[int(b * 4) + 1]; system("mkdir -p " to)
      printf "P6\n16 16\n255\n" >("sky/" file)
      for (p = 0; p < 256; p++) for (c = 0; c < 3; c++)
        printf "%c", int(60 + 100 * b + t * 40 * (p % 16 - 7.5) / 7.5 + rand() * 20) >("sky/" file)
      close("sky/" file); system("cp sky/" file " " to "/")
      printf "%s,%.4f,%.4f\n", file, 500 + 300 * b, t >("sky/" part ".csv")
    } }'
}
images train 240 && images val 80 || exit 1

# Both targets are learned, in their own units.
train learns --epochs 6 || fail training
r2=$(score learns r2)
above "$r2" 0.85 || fail "R2 is $r2"
above 40 "$(score learns mae)" || fail "MAE $(score learns mae) of values from 500 to 800 and from -1 to 1"
expect_line '240 training images, 2 targets'
expect_line 'target lux: mean 6[0-9][0-9]'
expect_line 'Best r2'
expect_line '^target,images,mae,rmse,r2' out/resnet20/learns/report/targets.csv
for word in '>best R2<' 'root mean squared error' '>Targets<'; do
  grep -q "$word" out/resnet20/learns/report.html || fail "report.html has no $word"
done

# Scores are those of the predictions, which checkpoints give in the targets' units.
best=out/resnet20/learns/last.safetensors
"$trainc" predict --weights $best sky/val --csv p.csv --json p.json >said 2>log || fail predict
expect_line '^image,predicted_lux,predicted_tilt$' p.csv
[ "$(jq -r '.targets | join(",")' p.json)" = lux,tilt ] || fail "targets of p.json"
errors() { # FILE: prints the mean absolute error of the two columns
  awk -F, 'FNR == 1 { next } NR == FNR { x[$1] = $2; y[$1] = $3; next }
    { sub(/^sky\//, "", $1); n++; a += ($2 > x[$1] ? $2 - x[$1] : x[$1] - $2); b += ($3 > y[$1] ? $3 - y[$1] : y[$1] - $3) }
    END { printf "%.5g %.5g\n", a / n, b / n }' sky/val.csv "$1"
}
awk -F, 'NR > 1 { printf "%.5g ", $3 } END { print "" }' out/resnet20/learns/report/targets.csv | sed 's/ $//' >want
errors p.csv >got
awk 'NR == FNR { a = $1; b = $2; next } { exit !(($1 / a - 1) ^ 2 < 1e-6 && ($2 / b - 1) ^ 2 < 1e-6) }' want got ||
  fail "predictions have MAE $(cat got), the report says $(cat want)"
"$trainc" eval --resume $best --data-path sky --result e.json >log 2>&1 || fail eval
[ "$(json_value e.json ema_r2)" = "$r2" ] || fail "eval has R2 $(json_value e.json ema_r2), training $r2"
printf 'id,lux,tilt\n' >sample.csv
for i in 0 1 2; do echo "$i,0,0" >>sample.csv; done
"$trainc" predict --weights $best sky/val/[012].ppm --submission s.csv --sample sample.csv >said 2>log || fail submission
[ "$(awk -F, 'NR == 2 { print ($2 > 400 && $3 > -3 && $3 < 3) }' s.csv)" = 1 ] || fail "$(cat s.csv)"

# Other losses, mixed targets, and several losses; a plateau of an error that falls.
train huber --epochs 2 --loss huber --opts TRAIN.LOSS.DELTA 0.5 TRAIN.BEST_METRIC rmse || fail huber
expect_line 'Best rmse'
train huber2 --epochs 2 --opts LOSSES "[{type: huber, delta: 0.5}]" || fail "LOSSES"
[ "$(score huber r2)" = "$(score huber2 r2)" ] || fail "LOSSES has another delta"
train smooth --epochs 2 --loss smooth_l1 --opts TRAIN.LOSS.DELTA 0.5 || fail smooth_l1
[ "$(score huber r2)" != "$(score smooth r2)" ] || fail "smooth_l1 is huber"
train l1 --epochs 2 --loss l1 --opts AUG.MIXUP 0.4 AUG.CUTMIX 1.0 TRAIN.LR_SCHEDULER.NAME plateau || fail l1
above "$(score l1 r2)" -1 || fail "l1 with mixed targets: R2 $(score l1 r2)"
train early --epochs 9 --opts TRAIN.EARLY_STOP 1 TRAIN.BEST_METRIC mae TRAIN.BASE_LR 0.0 TRAIN.WARMUP_LR 0.0 TRAIN.MIN_LR 0.0 ||
  fail "early stopping"
expect_line 'early stopping: no better score'

# An ensemble has the mean of its members' values.
"$trainc" predict --weights out/resnet20/huber/last.safetensors sky/val/[0-4].ppm --csv a.csv >said 2>log || fail "member"
"$trainc" predict --weights out/resnet20/smooth/last.safetensors sky/val/[0-4].ppm --csv b.csv >said 2>log || fail "member"
"$trainc" predict --weights out/resnet20/{huber,smooth}/last.safetensors sky/val/[0-4].ppm --csv m.csv >said 2>log || fail ensemble
expect_line 'values are averaged'
paste -d, a.csv b.csv m.csv | awk -F, 'NR > 1 { d = ($2 + $5) / 2 - $8; e = ($3 + $6) / 2 - $9; if (d * d > 1e-4 || e * e > 1e-8) exit 1 }' ||
  fail "the ensemble's values are no means"
"$trainc" eval --resume $best --data-path sky --tta vflip --result t.json >log 2>&1 || fail "test-time augmentation"
above "$(json_value t.json val_r2)" 0.8 || fail "R2 with two views: $(json_value t.json val_r2)"

# A resumed run is bit-exact, with the units of the checkpoint; other runs keep the backbone.
train whole --epochs 2 || fail "two epochs"
train part --epochs 2 --opts TRAIN.MAX_STEPS 15 || fail "one of two epochs"
train part --epochs 2 --resume out/resnet20/part/last.safetensors || fail resuming
cmp -s <(tensor_bytes out/resnet20/whole/last.safetensors) <(tensor_bytes out/resnet20/part/last.safetensors) ||
  fail "a resumed run has other weights"
train one --epochs 1 --pretrained $best --label-column tilt || fail "another number of targets"
expect_line 'the classifier is reinitialized'
train back --epochs 2 --opts TRAIN.VALIDATE background || fail "background validation"
[ "$(score back r2)" = "$(score whole r2)" ] || fail "the background has R2 $(score back r2), not $(score whole r2)"
# Two ranks compute the first step of one process, learn, and evaluate what one does. After some
# steps, rounding has flipped a relu, so that the weights are others.
alike=(AUG.HFLIP=0.0 AUG.COLOR_JITTER=0.0 AUG.AUTO_AUGMENT=none MODEL.SYNC_BN=True AMP_ENABLE=False PRINT_FREQ=1)
train alone --epochs 2 "${alike[@]}" || fail "fp32"
ranks 2 "${base[@]}" --data-path sky --dataset csv --task regression --label-column lux,tilt --tag ranks --epochs 2 \
  --batch-size 8 "${alike[@]}" >log 2>&1 || fail "two ranks"
first_loss() { jq -r 'select(.kind == "train") | .loss' "out/resnet20/$1/metrics.jsonl" | head -n 1; }
awk -v a="$(first_loss ranks)" -v b="$(first_loss alone)" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-6 * b) ^ 2) }' ||
  fail "two ranks have a first loss of $(first_loss ranks), one has $(first_loss alone)"
above "$(score ranks r2)" 0.7 || fail "two ranks have R2 $(score ranks r2)"
ranks 2 "$trainc" eval --resume $best --device cpu --data-path sky --batch-size 8 --result e2.json >log 2>&1 || fail "eval in two ranks"
awk -v a="$(json_value e2.json ema_r2)" -v b="$r2" 'BEGIN { exit !(a != "" && (a - b) ^ 2 < 1e-6 ^ 2) }' ||
  fail "two ranks evaluate R2 as $(json_value e2.json ema_r2), one as $r2"

# JSON lines and metadata.csv, a table without a usual name, and a validation fraction.
mkdir -p lines/train && cp sky/train/*.ppm lines/train
awk -F, 'NR > 1 { sub("train/", "", $1); printf "{\"file_name\": \"%s\", \"lux\": %s, \"tilt\": %s}\n", $1, $2, $3 }' sky/train.csv \
  >lines/train/metadata.jsonl
for from in sky lines; do
  "$trainc" init $from >init.yaml 2>log || fail "init $from"
  expect_line '^  TASK: regression  *# column .* holds numbers such as' init.yaml
  expect_line "^  LABEL_COLUMN: 'lux,tilt'" init.yaml
  "$trainc" --cfg init.yaml --output initialized --tag $from --max-steps 2 >log 2>&1 || fail "$from: what init wrote"
  "$trainc" check --cfg init.yaml >log 2>&1 || fail "check $from"
  expect_line 'lux from 50[0-9.]* to 7[0-9.]*, tilt from'
done
cp -r sky ages && sed -i '1s/lux,tilt/age/; 2,$s/^\([^,]*\),\([0-9]*\).*/\1,\2/' ages/*.csv
"$trainc" init ages >init.yaml 2>log || fail "init ages"
expect_line '^  TASK: regression  *# column age holds [0-9]* different numbers from' init.yaml
sed -i 's/,[0-9]*\([0-9]\)$/,\1/' ages/*.csv
"$trainc" init ages >init.yaml 2>log || fail "init digits"
grep -q 'TASK: regression' init.yaml && fail "ten whole numbers are no targets"

# Ordered classes: their order is given, by number, or that of the names.
order grades --epochs 4 --opts DATA.CLASS_NAMES '[none, mild, severe, worst]' || fail ordinal
expect_line 'ordered classes: none < mild < severe < worst'
expect_line 'kappa 0\.[0-9]* MAE 0\.'
kappa=$(score grades kappa)
above "$kappa" 0.7 || fail "kappa is $kappa"
above 0.6 "$(score grades mae)" || fail "MAE is $(score grades mae) classes"
"$trainc" predict --weights out/resnet20/grades/best.safetensors sky/val/[0-3].ppm --probabilities --csv q.csv >said 2>log || fail predict
expect_line ',none,mild,severe,worst$' q.csv
awk -F, 'NR > 1 { s = $10 + $11 + $12 + $13; if ((s - 1) ^ 2 > 1e-8) exit 1 }' q.csv || fail "$(cat q.csv)"
order mixed --epochs 1 --opts AUG.MIXUP 0.4 LOSSES "[{type: corn}, {type: corn, stage: 1, weight: 0.3}]" || fail "mixed classes"
expect_line 'ordered classes: mild < none'
mkdir numbers && for split in train val; do
  mkdir numbers/$split && cp -r grades/$split/none numbers/$split/2 && cp -r grades/$split/worst numbers/$split/10
done
"${base[@]}" --data-path numbers --task ordinal --tag numbers --epochs 1 >log 2>&1 || fail "numbers"
expect_line 'ordered classes: 2 < 10'

# Exports, and other verbs.
for run in learns grades; do
  "$trainc" export --weights out/resnet20/$run/best.safetensors --onnx $run.onnx >log 2>&1 || fail "export of $run"
done
grep -qa 'regression' learns.onnx && grep -qa '"lux","tilt"' learns.onnx || fail "metadata of the regression"
grep -qa 'ordinal' grades.onnx && grep -qa CumSum grades.onnx || fail "metadata of the ordered classes"
"$trainc" export --weights $best --out w.safetensors >log 2>&1 || fail "export of weights"
grep -qa 'target.std' w.safetensors || fail "an export has no units"
"$trainc" summary --task regression --num-classes 2 --model resnet20 --img-size 16 >log 2>&1 || fail summary
expect_line 'regression_loss'
"$trainc" check --data-path sky --dataset csv --task regression --label-column lux,tilt --img-size 16 --show-batch b.png >log 2>&1 ||
  fail "check --show-batch"
expect_line 'row 1, column 1: lux [0-9.]*, tilt'

# Mistakes are one line that names the file and the line, or the key.
mistake() { # MESSAGE ARGUMENT...
  train mistake --epochs 1 "${@:2}" && fail "no error: $1"
  expect_line "$1"
}
cell() { # LINE TEXT MESSAGE
  cp -r sky odd && sed -i "$1s/,[^,]*,/,$2,/" odd/train.csv
  mistake "odd/train.csv:$1: the target 'lux' $3" --data-path odd
  rm -r odd
}
"$trainc" predict --weights $best sky/val/0.ppm --csv p.csv >said 2>log || fail "the table of an earlier prediction is refused"
cell 5 '' 'is empty'
cell 6 nan "is no finite number: 'nan'"
cell 7 inf "is no finite number: 'inf'"
cell 8 dark "is no finite number: 'dark'"
cell 9 1e99 "is no finite number: '1e99'"
cell 10 '"1,5"' "is no finite number: '1,5'"
mistake "has no column 'sun'" --label-column lux,sun
mistake 'needs a table' --data-path grades --dataset folder
mistake 'cannot be used with MODEL.TASK regression (l2, l1, huber, smooth_l1 can)' --loss cross_entropy
mistake 'TRAIN.CLASS_WEIGHTS cannot be combined with MODEL.TASK regression' --class-weights balanced
mistake 'DATA.SAMPLER balances classes' --opts DATA.SAMPLER balanced
mistake 'TRAIN.BEST_METRIC top1 is a score of whole images' --opts TRAIN.BEST_METRIC top1
mistake 'TRAIN.BEST_METRIC kappa is a score of MODEL.TASK ordinal' --opts TRAIN.BEST_METRIC kappa
mistake 'TRAIN.LOSS.DELTA' --loss huber --opts TRAIN.LOSS.DELTA 0
mistake 'has 2 targets, but MODEL.NUM_CLASSES is 3' --num-classes 3
train warned --epochs 1 --opts TRAIN.LOSS.DELTA 0.5 TRAIN.MAX_STEPS 1 MODEL.LABEL_SMOOTHING 0.2
expect_line 'TRAIN.LOSS.DELTA has no effect'
expect_line 'MODEL.LABEL_SMOOTHING has no effect'
sed 's/,[^,]*,/,600,/; 1s/,600,/,lux,/' sky/train.csv >same.csv && cp -r sky same && cp same.csv same/train.csv
train same --data-path same --epochs 1 --opts TRAIN.MAX_STEPS 1 || fail "a constant target"
expect_line "all images have the same target 'lux'"
refuses 'is of classes, and MODEL.TASK is regression' "$trainc" predict --weights $best sky/val/0.ppm --topk 3
refuses 'needs --sample FILE' "$trainc" predict --weights $best sky/val/0.ppm --submission s2.csv
refuses 'needs MODEL.TASK regression' "${base[@]}" --data-path grades --loss huber
refuses 'needs MODEL.TASK ordinal' "${base[@]}" --data-path grades --loss corn
refuses "DATA.CLASS_NAMES lacks the class 'worst'" "${base[@]}" --data-path grades --task ordinal \
  --opts DATA.CLASS_NAMES '[none, mild, severe]'
refuses "has no class 'bad'" "${base[@]}" --data-path grades --task ordinal \
  --opts DATA.CLASS_NAMES '[none, mild, severe, worst, bad]'
refuses 'cannot be combined with MODEL.TASK ordinal' "${base[@]}" --data-path grades --task ordinal --opts QUANT.ENABLE True

echo "regression: R2 $r2, kappa $kappa"
finish
