#!/bin/bash
# trainc predict and eval --report agree with trainc eval; predict's output files.
#
#   tests/e2e/eval_predict.sh [TRAINC]
. "$(dirname "$0")/eval.bash"

# predict's accuracy on the validation images equals that of eval with EMA weights.
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
  fail "predict of a damaged file: not reported"
cmp -s predicted again || fail "predict of a damaged file: the others"
"$trainc" predict "${best[@]}" --on-error fail shapes/val >again 2>log
[ $? = 1 ] && ! cmp -s predicted again || fail "predict --on-error fail continues"
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

# --threshold leaves out what is less likely; --top-images ranks the images of each class. Both as in p.json.
limit=$(jq '[.images[].probabilities | max] | sort | (.[9] + .[10]) / 2' p.json)
"$trainc" predict "${best[@]}" --threshold "$limit" --top-images 3 --json t.json --sort likely shapes/val >said 2>log || fail "predict --threshold"
[ "$(grep -c 'no class reaches' said)" = 10 ] && [ "$(find likely/_below_threshold -type l | wc -l)" = 10 ] &&
  [ "$(jq '[.images[] | select(.top | length == 0)] | length' t.json)" = 10 ] || fail "predict --threshold $limit: $(cat said)"
for c in 0 1 2 3; do
  jq -r "[.images[] | {image, p: .probabilities[$c]}] | sort_by(-.p) | .[0:3][] | .image" p.json |
    cmp -s - <(jq -r ".top_images[$c].images[].image" t.json) || fail "predict --top-images: class $c"
done
refuses "--threshold: must be a probability" "$trainc" predict "${best[@]}" --threshold 1.01 --top-images none shapes/val
expect_line "top-images: must be a number of at least 1"

refuses "--topk: must be a number of at least 1" "$trainc" predict "${best[@]}" --topk 0 --copy --probabilities shapes/val
expect_line "no effect without --sort DIR"
expect_line "no effect without --json FILE or --csv"
echo "mine,too" >mine.csv
refuses "not a table of trainc" "$trainc" predict "${best[@]}" --csv mine.csv shapes/val
mkdir -p nothing/.hidden
refuses "no images found in 'nothing': no file name ends in .jpg, " "$trainc" predict "${best[@]}" nothing

finish
