#!/bin/bash
# trainc eval reproduces the validation scores of training for weights and EMA weights, at any
# validation batch size (padding is not counted); predict, export, and --report agree with it;
# results and exit codes of failing runs; THROUGHPUT_MODE.
#
#   tests/e2e/eval.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 32 --val 22 --size 16 2>/dev/null || exit 1
args=(--cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --output out --epochs 2)
run=out/resnet20/default

for device in cpu ref; do
  rm -rf out
  "$trainc" "${args[@]}" --device $device --result train.json >log 2>&1 ||
    fail "$device: training"
  "$trainc" eval "${args[@]}" --device $device --resume $run/last.safetensors \
    --result eval.json >log 2>&1 || fail "$device: eval"
  same_values train.json eval.json val_loss val_top1 ema_top1 steps epochs
  "$trainc" --eval "${args[@]}" --device $device --resume $run/last.safetensors \
    --result swin.json >log 2>&1 || fail "$device: --eval"
  same_values train.json swin.json val_loss val_top1 ema_top1
  # 22 images: one batch of 22, 4 batches of 5 plus 2, and 64 slots of which 42 are padding.
  for batch in 22 5 64; do
    "$trainc" eval "${args[@]}" --device $device --resume $run/last.safetensors \
      --val-batch-size $batch --result batch.json >log 2>&1 || fail "$device: $batch"
    same_values train.json batch.json val_top1 ema_top1
    grep -q "(22 images" log || fail "$device: batch $batch counts other than 22 images"
  done
  [ "$(json_value train.json exit)" = 0 ] && [ "$(json_value train.json epochs)" = 2 ] &&
    [ "$(json_value train.json steps)" = 8 ] || fail "$device: result of training"
done

# Frozen parameters are stored after the others, also for evaluation.
frozen=(--device cpu --opts TRAIN.FREEZE "['*.bias', 'layer2.*']")
rm -rf out
"$trainc" "${args[@]}" "${frozen[@]}" --result train.json >log 2>&1 || fail "frozen: training"
"$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --result eval.json >log 2>&1 ||
  fail "frozen: eval"
same_values train.json eval.json val_loss val_top1 ema_top1

# Weights only, as from another program.
"$trainc" eval "${args[@]}" --device cpu --pretrained $run/last.safetensors \
  --opts MODEL.PRETRAINED_SKIP "['fc.*']" >log 2>&1 || fail "eval of --pretrained"
expect_line "116 tensors loaded"
grep -q "MODEL.PRETRAINED_SKIP ignores" log && fail "--pretrained: a pattern was needed"

# --resume on the command line overrides a configuration's MODEL.RESUME.
printf 'BASE: [%s]\nMODEL:\n  RESUME: %s\n' "$here/configs/smoke/shapes.yaml" $run/last.safetensors >resume.yaml
named=(--cfg resume.yaml --data-path shapes --output out --device cpu)
for verb in eval --eval; do
  refuses "--pretrained: .*best.*' would be ignored, because MODEL.RESUME .* (resume.yaml:3:3)" \
    "$trainc" $verb "${named[@]}" --pretrained $run/best.safetensors
done
"$trainc" eval "${named[@]}" --pretrained $run/best.safetensors --resume= >log 2>&1 || fail "eval --pretrained --resume="
expect_line "116 tensors loaded"
"$trainc" eval "${named[@]}" --pretrained nowhere --resume $run/last.safetensors >log 2>&1 ||
  fail "eval --pretrained --resume"
expect_line "--pretrained: 'nowhere' is ignored"
printf 'MODEL:\n  PRETRAINED: nowhere\n' >pretrained.yaml
"$trainc" eval "${named[@]}" --cfg pretrained.yaml >log 2>&1 || fail "eval of MODEL.RESUME"

"$trainc" --throughput "${args[@]}" --device cpu --result t.json >log 2>&1 ||
  fail "--throughput"
expect_line "batch_size 8 throughput [0-9]"

# predict's accuracy on the validation images equals that of eval with EMA weights.
best=(--cfg $run/config.yaml --device cpu --weights $run/last.safetensors)
"$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --result eval.json >log 2>&1 ||
  fail "eval before predict"
"$trainc" predict "${best[@]}" shapes/val >predicted 2>log || fail "predict of a folder"
right=$(awk -F'[/:]' '{split($5, w, " "); n += w[1] == $3} END {printf "%.4f", 100 * n / NR}' predicted)
[ "$(wc -l <predicted)" = 22 ] || fail "predict of a folder: not each image once"
awk '{for (i = 3; i <= NF; i += 2) sum += $i} END {exit !(sum > 0.999 * NR && sum < 1.001 * NR)}' predicted ||
  fail "predict: the probabilities of an image do not add up to 1"
[ "$right" = "$(printf %.4f "$(json_value eval.json ema_top1)")" ] ||
  fail "predict: $right % are right, eval says $(json_value eval.json ema_top1)"
echo text >shapes/val/circle/text.jpg
"$trainc" predict "${best[@]}" shapes/val >again 2>log
[ $? = 1 ] && grep -q "skipping 'shapes/val/circle/text.jpg'" log ||
  fail "predict of a damaged file: not told"
cmp -s predicted again || fail "predict of a damaged file: the others"
"$trainc" predict "${best[@]}" --on-error fail shapes/val >again 2>log
[ $? = 1 ] && ! cmp -s predicted again || fail "predict --on-error fail goes on"
rm shapes/val/circle/text.jpg
mkfifo shapes/val/circle/pipe.png
timeout 60 "$trainc" predict "${best[@]}" shapes/val >again 2>log || fail "predict of a folder with a pipe"
grep -q "pipe.png': not a regular file" log && cmp -s predicted again || fail "predict of a folder with a pipe"
rm shapes/val/circle/pipe.png
mkdir -p around/a && cp "$(ls shapes/val/circle/* | head -1)" around/a && ln -s .. around/a/up && ln -s . around/self
timeout 60 "$trainc" predict "${best[@]}" around >log 2>&1
[ $? = 1 ] && grep -q "folders deep: it may contain a link to a parent" log || fail "predict of a folder with links around"
# The report has the accuracy of the EMA weights and the confusion matrix of predict's answers.
"$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --result eval.json --report report \
  --val-batch-size 5 >log 2>&1 || fail "eval --report"
[ "$(awk -v a="$(json_value report/report.json accuracy)" 'BEGIN {printf "%.4f", 100 * a}')" = \
  "$(printf %.4f "$(json_value eval.json ema_top1)")" ] || fail "eval --report: $(json_value report/report.json accuracy)"
sed -E 's|^shapes/val/([a-z]*)/[^:]*: ([a-z]*) .*|\1 \2|' predicted | sort | uniq -c >pairs
for label in circle square star triangle; do
  printf %s $label
  for answer in circle square star triangle; do
    printf ,%s "$(awk -v a=$label -v b=$answer '$2 == a && $3 == b {n = $1} END {print n + 0}' pairs)"
  done
  echo
done | cmp -s - <(tail -n +2 report/confusion.csv) || fail "eval --report: matrix $(cat report/confusion.csv)"
[ "$(wc -l <report/worst.csv)" = 23 ] && [ "$(wc -l <report/classes.csv)" = 5 ] &&
  [ -s report/confusion.png ] && [ -s report/pairs.csv ] || fail "eval --report: files"
refuses "'shapes': it is not empty and has no trainc report" \
  "$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --report shapes

# Output files have the same answers as the printed lines, all probabilities, and images sorted by
# class.
"$trainc" predict "${best[@]}" --topk all --json p.json --csv p.csv --probabilities --sort sorted \
  --val-batch-size 5 shapes/val >again 2>log || fail "predict into files"
cut -d' ' -f1,2 predicted | cmp -s - <(cut -d' ' -f1,2 again) || fail "predict in batches of 5: other classes"
[ "$(head -1 p.csv)" = image,class1,probability1,class2,probability2,class3,probability3,class4,probability4,circle,square,star,triangle ] ||
  fail "predict --csv: columns $(head -1 p.csv)"
awk -F, 'NR > 1 {n++; d = $10 + $11 + $12 + $13 - 1; if (d * d > 1e-8 || $3 < $5 || $5 < $7 || $7 < $9) bad = 1
  print $1 ": " $2 " "} END {exit bad || n != 22}' p.csv >rows || fail "predict --csv: probabilities"
cmp -s rows <(sed 's/^\([^:]*: [a-z]* \).*/\1/' again) || fail "predict --csv: classes"
[ "$(jq '[.images[] | select(.image and .probabilities)] | length' p.json)" = 22 ] ||
  fail "predict --json"
"$trainc" predict "${best[@]}" --json - shapes/val 2>/dev/null | head -c 10 | cmp -s - <(head -c 10 p.json) || fail "predict --json -"
for class in circle square star triangle; do
  [ "$(find sorted/$class -type l 2>/dev/null | wc -l)" = "$(grep -c ": $class " again)" ] || fail "predict --sort: $class"
done
[ -r "$(find sorted -type l | head -1)" ] || fail "predict --sort: a link to nothing"
refuses "'sorted' is not empty" "$trainc" predict "${best[@]}" --sort sorted shapes/val
"$trainc" predict "${best[@]}" --sort copied --copy shapes/val >again 2>log || fail "predict --copy"
[ "$(find copied -type f | wc -l)" = 22 ] && [ -z "$(find copied -type l)" ] || fail "predict --copy: files"
refuses "--topk: must be a number of at least 1" "$trainc" predict "${best[@]}" --topk 0 --copy --probabilities shapes/val
expect_line "no effect without --sort DIR"
expect_line "no effect without --json FILE or --csv"
echo "mine,too" >mine.csv
refuses "no table of trainc's lies there" "$trainc" predict "${best[@]}" --csv mine.csv shapes/val
mkdir -p nothing/.hidden
refuses "no images found in 'nothing': no file name ends in .jpg, " "$trainc" predict "${best[@]}" nothing

# Exported weights have timm's names and nothing else.
"$trainc" export --weights $run/last.safetensors --out alone.safetensors >log 2>&1 || fail "export"
"$trainc" predict --cfg $run/config.yaml --device cpu --weights alone.safetensors shapes/val >again 2>log
cmp -s predicted again || fail "export: another model"
grep -aq "optimizer\.\|ema\." alone.safetensors && fail "export: more than weights"
"$trainc" export --weights $run/last.safetensors --out raw.safetensors --raw >log 2>&1 || fail "export --raw"
cmp -s alone.safetensors raw.safetensors && fail "export --raw is the EMA"
for part in state_dict_ema state_dict; do
  raw=$([ $part = state_dict ] && echo --raw)
  "$trainc" export --weights "$here/tests/golden/io/timm.pth.tar" --out torch_$part.safetensors $raw >log 2>&1 ||
    fail "export of PyTorch's checkpoint"
  grep -q "1 tensors of $part to " log || fail "export of PyTorch's checkpoint: not its $part"
  grep -aq '"w":' torch_$part.safetensors || fail "export of PyTorch's checkpoint: names"
done
cmp -s torch_state_dict.safetensors torch_state_dict_ema.safetensors && fail "export of PyTorch's checkpoint: the same"
"$trainc" export --weights "$here/tests/golden/io/compiled.pth" --out compiled.safetensors >log 2>&1 ||
  fail "export of a compiled, wrapped module"
grep -aq '"w":' compiled.safetensors || fail "export of a compiled, wrapped module: names"
"$trainc" export --weights alone.safetensors --out twice.safetensors >log 2>&1 && fail "export of weights alone"
for from in $run/last.safetensors alone.safetensors alone.safetensors; do # the third replaces the second
  "$trainc" export --weights $from --onnx $(basename $from .safetensors).onnx >log 2>&1 || fail "export --onnx of $from"
done
cmp -s last.onnx alone.onnx || fail "export --onnx: a checkpoint and its weights alone are other models"
grep -aq '\["' alone.onnx || fail "export --onnx: no names of classes"
echo "not ours" >foreign.onnx
"$trainc" export --weights alone.safetensors --onnx foreign.onnx >log 2>&1 && fail "export --onnx over a foreign file"
expect_line "not ours" foreign.onnx
before=$(cksum <$run/last.safetensors)
"$trainc" export --weights $run/last.safetensors --out $run/last.safetensors >log 2>&1 &&
  fail "export over its checkpoint"
[ "$before" = "$(cksum <$run/last.safetensors)" ] || fail "export over its checkpoint: changed"

# Unused EMA weights are mentioned; weights with another classifier are rejected.
"$trainc" eval "${args[@]}" --device cpu --resume $run/last.safetensors --no-model-ema >log 2>&1 ||
  fail "--no-model-ema"
expect_line "ignoring the EMA weights in "
"$trainc" synth shapes --out three --classes 3 --train 3 --val 3 --size 16 2>log || fail "synth"
other=("${args[@]}" --device cpu --data-path three --num-classes 3 --pretrained alone.safetensors)
exits 1 "set DATA.CHECK_CLASSES False" "$trainc" eval "${other[@]}"
exits 1 "does not match" "$trainc" eval "${other[@]}" --opts DATA.CHECK_CLASSES=False

# A checkpoint needs no configuration file: it contains the configuration, as do exported weights.
"$trainc" eval --resume $run/last.safetensors --result bare.json >log 2>&1 ||
  fail "eval of a checkpoint alone"
"$trainc" eval "${args[@]}" --resume $run/last.safetensors --result eval.json >log 2>&1
same_values eval.json bare.json val_loss val_top1 ema_top1
"$trainc" export --weights $run/last.safetensors --out bare.safetensors >log 2>&1 &&
  "$trainc" eval --pretrained bare.safetensors --result exported.json >log 2>&1 ||
  fail "eval of exported weights alone"
[ "$(json_value exported.json val_top1)" = "$(json_value bare.json ema_top1)" ] || fail "eval of exported weights: other figures"
image=$(ls shapes/val/circle/* | head -1)
"$trainc" predict --cfg $run/config.yaml --weights $run/last.safetensors "$image" >with 2>log &&
  "$trainc" predict --weights $run/last.safetensors "$image" >without 2>log && cmp -s with without ||
  fail "predict from a checkpoint alone"
refuses "has 4 classes, but MODEL.NUM_CLASSES is 3" "$trainc" eval --resume $run/last.safetensors --num-classes 3

# A failing run prints a message and writes a result with the exit code.
"$trainc" "${args[@]}" --lr 1e6 --no-auto-resume --tag wild --warmup-epochs 0 \
  --epochs 50 --opts AMP.MAX_SKIPS=3 --result wild.json >log 2>&1
[ $? = 1 ] || fail "a run that diverges: exit code"
[ "$(json_value wild.json exit)" = 1 ] || fail "a run that diverges: result"
[ "$(json_value wild.json steps)" -ge 3 ] || fail "a run that diverges: its updates are not counted"
expect_line "not finite"
grep -q "expected" log && fail "a run that diverges without a loss scale: is soothed"
for key in LOSS_SCALE=1e7 INIT_SCALE=1e12; do
  exits 1 "AMP.${key%=*} may be too large" \
    "$trainc" --cfg "$here/configs/smoke/fp16.yaml" --data-path shapes --output out --tag scale \
    --no-auto-resume --opts AMP.MAX_SKIPS=3 AMP.$key
done

refused() { # NAME PATTERN ARGUMENT...: exit code 2, and the error is in the result
  local what=$1 pattern=$2
  rm -f refused.json
  "$trainc" "${@:3}" --result refused.json >log 2>&1
  [ $? = 2 ] || fail "$what: exit code"
  [ "$(json_value refused.json exit)" = 2 ] || fail "$what: exit code in the result"
  [ "$(json_value refused.json steps)" = 0 ] && [ "$(json_value refused.json val_loss)" = null ] &&
    [ "$(json_value refused.json peak_memory_bytes)" = null ] ||
    fail "$what: result"
  jq .error refused.json | grep -q -e "$pattern" || fail "$what: error in the result"
  [ -e out/resnet20/refused ] && fail "$what: a folder was made"
}

refused "--resume of nothing" "file 'nowhere" "${args[@]}" --tag refused \
  --resume nowhere.safetensors
refused "eval of nothing" "nothing to evaluate" eval "${args[@]}"
refused "another number of classes" "has 4 classes" "${args[@]}" --num-classes 7 --tag refused
refused "unknown keys" "TRAIN.EPOCH .*TRAIN.BASELR" "${args[@]}" --tag refused \
  --opts TRAIN.EPOCH 3 TRAIN.BASELR 1
refused "no such file" "nowhere.yaml" --cfg nowhere.yaml
refused "no such data" "--data-path: DATA.DATA_PATH: folder 'nowhere'" \
  "${args[@]}" --data-path nowhere --tag refused
refused "no such split" "'shapes' has no folder 'test'; it has 'train', 'val' (DATA.VAL_SPLIT, DATA.DATASET folder)" \
  "${args[@]}" --val-split test --tag refused
refused "sides of label maps" "is a square of DATA.IMG_SIZE" "${args[@]}" --tag refused \
  --opts DATA.IMG_WIDTH=512 DATA.IMG_HEIGHT=512
refused "a run for a checkpoint" "'$run' is a folder; use '$run/last.safetensors'" "${args[@]}" \
  --tag refused --resume $run
refuses "is a square of DATA.IMG_SIZE" "$trainc" predict "${best[@]}" --opts DATA.IMG_WIDTH=32 -- shapes/val
refuses "DATA.MEAN has 3 numbers, but images have one channel" "$trainc" predict "${best[@]}" --in-chans 1 shapes/val
"$trainc" "${args[@]}" --scale 0.5 1 --accumulation-steps 9 --resume $run/last.safetensors --pretrained alone.safetensors \
  --start-epoch 1 >log 2>&1 || fail "what has no effect"
for what in "AUG.SCALE has no effect" "ignoring TRAIN.START_EPOCH 1" "ignoring MODEL.PRETRAINED 'alone.safetensors'" \
  "ACCUMULATION_STEPS 9 is more than the 4 batches"; do
  grep -q "$what" log || fail "not said: $what"
done
printf 'PK\003\004\024\000\010\010archive/data.pkl' >weights.pth
refuses "'weights.pth': a damaged zip archive" "$trainc" eval "${args[@]}" --pretrained weights.pth
refuses "a PyTorch file and no safetensors" "$trainc" "${args[@]}" --resume weights.pth --tag refused
mkdir a_folder
"$trainc" "${args[@]}" --result a_folder --tag refused >log 2>&1
[ $? = 2 ] || fail "--result of a folder: exit code"
rm -f refused.json
"$trainc" "${args[@]}" --result refused.json --no-such-flag >log 2>&1
[ $? = 2 ] || fail "unknown flag: exit code"
[ -e refused.json ] && fail "unknown flag: a result of a command that was not understood"

# fp16 with a loss scale, on the reference device, which supports every type.
"$trainc" "${args[@]}" --device ref --amp-dtype fp16 --tag half --epochs 1 \
  --warmup-epochs 0 --max-steps 2 --opts AMP.INIT_SCALE=1e9 >log 2>&1 || fail "fp16"
expect_line "a few skipped steps are normal"

finish
