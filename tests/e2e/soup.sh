#!/bin/bash
# trainc average --greedy keeps the checkpoints that Wortsman et al.'s recipe keeps, as eval and
# plain averages find; works on files, runs, and sweeps; --bn-batches estimates the batch norm
# statistics of each mean again (swa_norms.sh compares them with PyTorch's).
#
#   tests/e2e/soup.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

"$trainc" synth shapes --out shapes --classes 4 --train 128 --val 96 --size 16 >log 2>&1 || fail "synth"
train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --opts OUTPUT out
  DATA.BATCH_SIZE 16 TRAIN.EMA.ENABLE False TRAIN.KEEP_CHECKPOINTS 9)
average() { "$trainc" average "$@" >log 2>&1 || fail "average $*"; }
# A run of which the recipe keeps some checkpoints, but not all. That depends on rounding, and so on the processor.
for seed in 0 1 2 3 4 5 6 7; do
  run=out/resnet20/run$seed
  "${train[@]}" TAG run$seed SEED $seed TRAIN.EPOCHS 7 TRAIN.BASE_LR 0.1 >log 2>&1 || { fail "train"; finish; }
  shows=yes
  for how in "" "--bn-batches 3"; do
    # shellcheck disable=SC2086 # words
    average --greedy "$run"/ckpt_epoch_*.safetensors $how --out soup.safetensors
    n=$(grep -c "^averaged " log)
    [ "$n" -gt 1 ] && [ "$n" -lt 7 ] || shows=
  done
  [ -z "$shows" ] || break
done
refused() { exits "$1" "$2" "$trainc" average "${@:3}" --out x.safetensors; } # CODE PATTERN ARGUMENT...
top1() { # FILE
  "$trainc" eval --pretrained "$1" --device cpu --result top1.json >/dev/null 2>&1 || fail "eval $1"
  json_value top1.json val_top1
}
# Whether tensors of two files are equal whose names match PATTERN.
same_tensors() { # PATTERN FILE FILE
  python3 - "$@" <<'END'
import json, re, sys
def load(path):
    data = open(path, 'rb').read()
    n = int.from_bytes(data[:8], 'little')
    head = json.loads(data[8:8 + n])
    head.pop('__metadata__', None)
    return {k: data[8 + n + t['data_offsets'][0]:8 + n + t['data_offsets'][1]] for k, t in head.items() if re.search(sys.argv[1], k)}
a, b = load(sys.argv[2]), load(sys.argv[3])
assert a and a.keys() == b.keys()
sys.exit(a != b)
END
}

# The recipe, by single commands. A tie of scores keeps the order of the command line.
recipe() { # MEAN-ARGUMENT... -- FILE...
  local mean=() order=() kept=() file best now
  while [ "$1" != -- ]; do mean+=("$1"); shift; done
  shift
  mapfile -t order < <(for file; do echo "$(top1 "$file") $file"; done | sort -s -k1,1gr | cut -d' ' -f2)
  kept=("${order[0]}")
  best=$(top1 "${order[0]}")
  for file in "${order[@]:1}"; do
    "$trainc" average "${kept[@]}" "$file" "${mean[@]}" --out try.safetensors >/dev/null 2>&1 || fail "a mean"
    now=$(top1 try.safetensors)
    above "$best" "$now" && continue
    kept+=("$file") best=$now
  done
  printf '%s\n' "$best" "${kept[@]}"
}
files=("$run"/ckpt_epoch_*.safetensors)
for how in "" "--bn-batches 3"; do
  # shellcheck disable=SC2086 # words
  recipe $how -- "${files[@]}" >want
  # shellcheck disable=SC2086
  average --greedy "${files[@]}" $how --out soup.safetensors
  sed -n "s/^averaged '\(.*\)'/\1/p" log >got
  tail -n +2 want | cmp -s - got || fail "--greedy $how keeps $(cat got), not $(cat want)"
  n=$(wc -l <got)
  [ "$n" -gt 1 ] && [ "$n" -lt ${#files[@]} ] || fail "--greedy $how: $n kept: the test shows nothing"
  [ "$(grep -c "^'.*: top1 .*\(kept\|left out\): " log)" = ${#files[@]} ] || fail "no line for each checkpoint"
  expect_line "^greedy soup: $n of ${#files[@]} checkpoints, top1 $(printf %.4f "$(head -1 want)")$"
  [ "$(top1 soup.safetensors)" = "$(head -1 want)" ] || fail "--greedy $how: the file has another accuracy"
  # shellcheck disable=SC2046
  average $(cat got) $how --out mean.safetensors
  same_tensors . soup.safetensors mean.safetensors || fail "--greedy $how is not the mean of what it keeps"
done

# Statistics only: the weights are the same, and other batches give other statistics.
average "${files[@]}" --out mean.safetensors
average "${files[@]}" --bn-batches 1 --out one.safetensors
expect_line "estimated from 1 batch of 16 images$"
average "${files[@]}" --bn-batches 2 --out two.safetensors
expect_line "estimated from 2 batches of 16 images$"
average "${files[@]}" --bn-batches all --out all.safetensors
expect_line "estimated from 8 batches of 16 images$"
average "${files[@]}" --bn-batches 999 --out most.safetensors
expect_line "estimated from 8 batches of 16 images, the whole training set"
same_tensors '^(?!.*(running_|num_batches)).*' mean.safetensors two.safetensors || fail "--bn-batches changes weights"
same_tensors running_mean mean.safetensors two.safetensors && fail "--bn-batches changes no statistics"
same_tensors running_var one.safetensors two.safetensors && fail "one batch is as good as two"
same_tensors running_var two.safetensors all.safetensors && fail "two batches are as good as all"
same_tensors . all.safetensors most.safetensors || fail "all batches, and more than there are, differ"
average --greedy $run --bn-batches 3 --out run.safetensors
average --greedy $run --bn-batches 3 --raw --out again.safetensors
same_tensors . again.safetensors run.safetensors || fail "a run's folder, twice"

# A sweep: the best checkpoint of each run, or with --last its newest.
"$trainc" sweep "${train[@]:1}" OUTPUT unused --epochs 2 --grid SEED=1,2,3 --output sweep >log 2>&1 || fail "sweep"
average --greedy sweep --out sweep.safetensors
[ "$(grep -c "^'sweep/resnet20/seed=[123]/best.safetensors': top1" log)" = 3 ] || fail "a sweep"
average sweep --last 1 --out uniform.safetensors
[ "$(grep -c "averaged 'sweep/.*" log)" = 3 ] || fail "a sweep's newest"

# EMA weights, another metric (a loss falls), other data, and a net without batch norms.
"${train[@]}" TAG ema TRAIN.EPOCHS 3 TRAIN.EMA.ENABLE True TRAIN.EMA.DECAY 0.8 TRAIN.BEST_METRIC loss >log 2>&1 || fail "train ema"
average --greedy out/resnet20/ema --bn-batches 2 --out ema.safetensors
expect_line "checkpoints, EMA weights\|tensors, EMA weights"
best=$(sed -n "s/^'.*: loss \([0-9.]*\), kept: the best/\1/p" log)
for loss in $(sed -n "s/^'.*: loss \([0-9.]*\),.*/\1/p" log); do above "$best" "$loss" && fail "the best loss is $best, not $loss"; done
mv shapes other
refused 2 "shapes" --greedy $run
average --greedy $run --data-path other --out other.safetensors
mv other shapes
"$trainc" --model vit_tiny_patch16_224 --data-path shapes --device cpu --opts OUTPUT out DATA.IMG_SIZE 32 TAG vit TRAIN.MAX_STEPS 2 \
  TRAIN.SAVE_STEPS 1 DATA.BATCH_SIZE 8 TRAIN.EMA.ENABLE False TRAIN.KEEP_CHECKPOINTS 3 >log 2>&1 || fail "train vit"
average out/vit_tiny_patch16_224/vit --bn-batches all --out vit.safetensors
expect_line "vit_tiny_patch16_224 has no batch norm statistics to estimate"
average out/vit_tiny_patch16_224/vit --out plain.safetensors
same_tensors . vit.safetensors plain.safetensors || fail "--bn-batches changes a net without batch norms"

a=${files[0]} b=${files[1]}
refused 1 "is one checkpoint" --greedy "$a"
refused 2 "^trainc: error: --bn-batches.*number from 1" "$a" "$b" --bn-batches 0
refused 2 "^trainc: error: --bn-batches.*some" "$a" "$b" --bn-batches some
refused 2 "DATA.BATCH_SIZE auto: --bn-batches needs a number" "$a" "$b" --bn-batches 1 DATA.BATCH_SIZE=auto
refused 2 "128 images, fewer than DATA.BATCH_SIZE 200" "$a" "$b" --bn-batches 1 --batch-size 200
refused 1 "128 training images are fewer than DATA.BATCH_SIZE 200" "$a" "$b" --bn-batches 1 --batch-size 200 --no-drop-last
refused 2 "TEST.TTA: --greedy validates plain images" --greedy "$a" "$b" --tta hflip
refused 2 "MODEL.RESUME: has no effect: the arguments are the weights" --greedy "$a" "$b" --resume "$a"
refused 2 "none" --greedy "$a" "$b" --data-path none
refused 2 "DEVICE" --greedy "$a" "$b" --device cuda:0,cuda:1
mkdir empty && touch empty/sweep.csv
refused 1 "'empty' is a sweep without a run that has a best.safetensors" empty
sed 's/trainc_config/trainc_confix/; s/"xxh3"/"xxh4"/; s/"averaged"/"avaraged"/' mean.safetensors >bare.safetensors
refused 2 "'bare.safetensors'" --greedy bare.safetensors "$a"
"$trainc" synth shapes --out three --classes 3 --train 32 --val 9 --size 16 >log 2>&1
refused 2 "'three/val' has 3 classes, but MODEL.NUM_CLASSES is 4" --greedy "$a" "$b" --data-path three
[ ! -e x.safetensors ] || fail "a refused average left a file"
average "$a" "$b" --data-path shapes --out y.safetensors
expect_line "warning: --data-path: .* has no effect without --greedy or --bn-batches"
finish
