#!/bin/bash
# Tables of images and classes (DATA.DATASET csv), from a competition's train.csv to its
# submission: usual column names, ids without extension, a validation fraction, a split column,
# and predictions in the form of a sample file.
#
#   tests/e2e/tables.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

# A competition's layout: train/ID.jpg and test/ID.jpg without class folders.
"$trainc" synth shapes --size 32 --classes 3 --train 60 --val 12 --out shapes >log 2>&1 || { fail "preparations"; exit 1; }
mkdir -p data/train data/test
echo "image_id,label,site" >data/train.csv
for path in shapes/train/*/*; do
  id=$(basename "$(dirname "$path")")_$(basename "${path%.*}")
  cp "$path" "data/train/$id.jpg"
  echo "$id,$(basename "$(dirname "$path")"),\"hall, $((RANDOM % 2))\"" >>data/train.csv
done
i=0
for path in shapes/val/*/*; do
  cp "$path" "data/test/t$i.jpg"
  i=$((i + 1))
done

run=(--model resnet20 --img-size 32 --epochs 2 -b 8 -j 1 --threads 1 --output out)
"$trainc" --data-path data --dataset csv --val-fraction 0.2 "${run[@]}" >log 2>&1 || fail "training from train.csv"
expect_line "reading images from 'data/train' (column image_id), classes in column label" log
expect_line "48 training images\|48 images\|Train: \[1/2\]" log
best=out/resnet20/default/best.safetensors

# The same data from a table with a split column, and the storage under another name.
awk -F, 'NR == 1 { print "split," $0; next } { print (NR % 5 ? "train" : "valid") "," $0 }' data/train.csv >data/labels.csv
mv data/train.csv train.csv.away
"$trainc" --data-path data --dataset tsv --tag split "${run[@]}" --epochs 1 >log 2>&1 || fail "training from labels.csv"
"$trainc" --data-path data/labels.csv --dataset csv --tag file "${run[@]}" --epochs 1 >log 2>&1 || fail "training from a file"
"$trainc" check --dataset csv --data-path data --model resnet20 --img-size 32 >log 2>&1 || fail "check"
mv train.csv.away data/train.csv; rm data/labels.csv

# Without validation data, one line says so.
"$trainc" --data-path data --dataset csv --tag none "${run[@]}" >log 2>&1
[ $? = 2 ] && expect_line "has no validation table val.csv: use DATA.VAL_FRACTION 0.1" log || fail "no validation"
"$trainc" --data-path data --dataset csv --label-column breed --val-fraction 0.2 --tag none "${run[@]}" >log 2>&1
[ $? = 2 ] && expect_line "has no column 'breed' (DATA.LABEL_COLUMN); its columns are image_id, label, site" log || fail "no such column"

# Imbalance: balanced sampling is the same for any number of workers and in a resumed run; weights
# come from a column.
awk -F, 'NR == 1 || $2 != "'"$(ls shapes/train | head -1)"'" || NR % 7 == 0' data/train.csv | awk -F, 'NR == 1 { print $0 ",w"; next } { print $0 "," NR % 3 }' >data/labels.csv
skewed=(--data-path data/labels.csv --dataset csv --val-fraction 0.2 "${run[@]}")
numbers() { tensor_bytes "out/resnet20/$1/last.safetensors"; }
for workers in 0 2; do
  "$trainc" "${skewed[@]}" --sampler balanced -j $workers --tag balanced$workers >log 2>&1 || fail "balanced"
done
"$trainc" "${skewed[@]}" --sampler balanced --tag resumed --opts HOOKS "[{at: epoch, run: 'test \$TRAINC_EPOCH = 2 || kill -TERM \$PPID', shell: True}]" >log 2>&1
"$trainc" "${skewed[@]}" --sampler balanced --tag resumed --opts HOOKS "[]" >log 2>&1 && expect_line "resumed from" log || fail "balanced, resumed"
cmp -s <(numbers balanced0) <(numbers balanced2) || fail "balanced draws depend on the workers"
cmp -s <(numbers balanced0) <(numbers resumed) || fail "a resumed run draws others"
"$trainc" "${skewed[@]}" --tag uniform >log 2>&1 || fail "uniform"
cmp -s <(numbers balanced0) <(numbers uniform) && fail "--sampler balanced does nothing"
"$trainc" "${skewed[@]}" --sampler weights --weight-column w --tag weights >log 2>&1 || fail "weights"
"$trainc" "${skewed[@]}" --sampler weights --tag weights >log 2>&1
[ $? = 2 ] && expect_line "DATA.WEIGHT_COLUMN names the column" log || fail "weights without a column"
"$trainc" "${skewed[@]}" --sampler balanced --no-shuffle --tag x >log 2>&1
[ $? = 2 ] && expect_line "cannot be combined with DATA.SHUFFLE" log || fail "no shuffle"
rm data/labels.csv

# Submissions have the rows and columns of the sample; with labels or probabilities.
{ echo "image_id,label"; for i in 7 3 0; do echo "t$i,x"; done; } >sample.csv
"$trainc" predict --weights $best data/test --submission sub.csv --sample sample.csv >log 2>&1 || fail "predict --submission"
[ "$(cut -d, -f1 sub.csv | tr '\n' ' ')" = "image_id t7 t3 t0 " ] || { cat sub.csv; fail "rows of the sample"; }
for i in 7 3 0; do
  want=$(sed -n "s|^data/test/t$i.jpg: \([^ ]*\) .*|\1|p" log)
  [ "$(sed -n "s/^t$i,//p" sub.csv)" = "$want" ] || { cat sub.csv; fail "t$i is not $want"; }
done
classes=$(cd shapes/train && ls | tr '\n' ,)
{ echo "id,${classes%,}"; for i in $(seq 0 11); do echo "t$i.jpg,0.3,0.3,0.4"; done; } >sample2.csv
"$trainc" predict --weights $best data/test --submission sub2.csv --sample sample2.csv >log 2>&1 || fail "probabilities"
awk -F, 'NR > 1 { d = $2 + $3 + $4 - 1; if (d * d > 1e-10 || NF != 4) exit 1 } END { exit NR != 13 }' sub2.csv || { cat sub2.csv; fail "probabilities"; }
"$trainc" predict --weights $best data/test --submission plain.csv >log 2>&1 && [ "$(wc -l <plain.csv)" = 13 ] && expect_line "^id,label$" plain.csv || fail "no sample"
# Repeated: a file of the same form is replaced, others are kept.
"$trainc" predict --weights $best data/test --submission sub.csv --sample sample.csv >log 2>&1 || fail "again"
"$trainc" predict --weights $best data/test --submission data/train.csv --sample sample.csv >log 2>&1
[ $? = 2 ] && expect_line "already exists and begins with" log || fail "a file of others is overwritten"
"$trainc" predict --weights $best data/test --submission sample.csv --sample sample.csv >log 2>&1
[ $? = 2 ] && expect_line "is the sample file itself" log || fail "the sample is overwritten"
{ echo "id,label"; echo "t99,x"; } >sample3.csv
"$trainc" predict --weights $best data/test --submission sub3.csv --sample sample3.csv >log 2>&1
[ $? = 1 ] && expect_line "1 of 1 rows have no image, first 't99' (line 2)" log || fail "an image that is missing"
{ echo "id,cat,dog"; echo "t1,0,0"; } >sample4.csv
"$trainc" predict --weights $best data/test --submission sub3.csv --sample sample4.csv >log 2>&1
[ $? = 1 ] && expect_line "the column 'cat' is not a class of the model" log || fail "other classes"

finish
