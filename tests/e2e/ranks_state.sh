#!/bin/bash
# State that several processes share besides gradients. MODEL.SYNC_BN computes batch statistics
# over all ranks: 2 and 4 ranks have the weights of one process to 1e-6, which fails without it.
# DIST.SHARD_OPTIMIZER shards the moments: the bits equal those without sharding, and any number
# of ranks can resume the checkpoints. Also tested: small buckets, 16-bit gradients, and a change
# of the number of ranks within an epoch.
#
#   tests/e2e/ranks_state.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

train=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --mixup 0 --no-amp
  --print-freq 1 --clip-grad 0)

# A small learning rate: near a ReLU's kink, rounding decides which way a gradient flows.
few=(--opts TRAIN.BASE_LR=1e-6 TRAIN.WARMUP_LR=1e-6 TRAIN.MAX_STEPS=8)
"${train[@]}" --batch-size 8 --output one "${few[@]}" >log 2>&1 || fail "one process"
for n in 2 4; do
  ranks $n "${train[@]}" --batch-size $((8 / n)) --sync-bn --output sync$n "${few[@]}" >log 2>&1 || fail "$n ranks"
  grep -q "19 batch norms compute their statistics over the batches of $n processes" log || fail "$n ranks: not said"
  far=$(apart "$(file one)" "$(file sync$n)")
  echo "$n ranks with SYNC_BN: $far from one process"
  below "$far" 4e-6 || fail "$n ranks: $far apart"
done
ranks 2 "${train[@]}" --batch-size 4 --output own "${few[@]}" >log 2>&1 || fail "without"
below "$(apart "$(file one)" "$(file own)")" 1e-3 && fail "without --sync-bn the statistics are the same"
ranks 4 "${train[@]}" --batch-size 2 --sync-bn --output pairs "${few[@]}" MODEL.SYNC_BN_GROUP=2 >log 2>&1 || fail "pairs"
expect_line "over the batches of 2 processes"
below "$(apart "$(file one)" "$(file pairs)")" 1e-3 && fail "pairs have the statistics of all"
ranks 4 "${train[@]}" --batch-size 2 --sync-bn --output no --opts MODEL.SYNC_BN_GROUP=3 >log 2>&1
expect_line "MODEL.SYNC_BN_GROUP: 4 processes cannot be divided into groups of 3"
"${train[@]}" --sync-bn --output alone --max-steps 1 --opts DIST.SHARD_OPTIMIZER=True DIST.HALF_GRADIENTS=True >log 2>&1 || fail "--sync-bn in one process"
for key in MODEL.SYNC_BN DIST.SHARD_OPTIMIZER DIST.HALF_GRADIENTS; do
  grep -q "$key has no effect: there is one process" log || fail "$key in one process: no warning"
done
echo "ok: statistics of all"

# Sharded moments and buckets of 1 MiB: the same bits as without them.
for opt in sgd adamw lamb; do
  all=("${train[@]}" --opt $opt --batch-size 4 --epochs 1)
  ranks 2 "${all[@]}" --output whole-$opt >log 2>&1 || fail "$opt"
  ranks 2 "${all[@]}" --output share-$opt --opts DIST.SHARD_OPTIMIZER=True DIST.BUCKET_MB=1 >log 2>&1 ||
    fail "$opt, shares"
  far=$(apart "$(file whole-$opt)" "$(file share-$opt)")
  [ "$far" = 0 ] || fail "$opt: shares are $far from the whole"
done
# The gradient norm covers all gradients although each process holds a shard; three processes, two
# batches per step.
all=("${train[@]:0:14}" --opt sgd --clip-grad 0.05 --batch-size 4 --epochs 1 --accumulation-steps 2)
ranks 3 "${all[@]}" --output whole-clip --opts TRAIN.BASE_LR=1e-3 >log 2>&1 || fail "clipping"
ranks 3 "${all[@]}" --output share-clip --opts TRAIN.BASE_LR=1e-3 DIST.SHARD_OPTIMIZER=True DIST.BUCKET_MB=1 >log 2>&1 ||
  fail "clipping, shares"
far=$(apart "$(file whole-clip)" "$(file share-clip)")
below "$far" 1e-5 || fail "clipping: shares are $far from the whole"
# One process resumes a sharded checkpoint, and three ranks resume that of one process.
cp -r share-adamw/resnet20/default from && rm from/ckpt* from/best*
for n in 1 2; do
  ranks $n "${train[@]}" --opt adamw --batch-size $((8 / n)) --sync-bn --output on$n --resume from/last.safetensors --epochs 2 \
    --max-steps 10 --opts DIST.SHARD_OPTIMIZER=True TRAIN.BASE_LR=1e-6 >log 2>&1 || fail "on in $n"
done
far=$(apart "$(file on1)" "$(file on2)")
below "$far" 1e-3 || fail "on in one and in two: $far apart"
[ -z "$(grep -l "shares" log)" ] || fail "log"
echo "ok: shares of the moments"

# Gradients of weights that are used in 16 bits are sent in 16 bits.
mixed=("${train[@]:0:11}" --amp-opt-level O1 --amp-dtype bf16 --batch-size 4 --epochs 1 --print-freq 1)
ranks 2 "${mixed[@]}" --output wide >log 2>&1 || fail "bf16"
ranks 2 "${mixed[@]}" --output narrow --opts DIST.HALF_GRADIENTS=True >log 2>&1 || fail "16-bit gradients"
far=$(apart "$(file wide)" "$(file narrow)")
[ "$far" != 0 ] && below "$far" 0.5 || fail "16-bit gradients: $far apart"
"$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" --device cpu --world 2 --json w.json >log 2>&1 || fail "summary"
expect_line "2 processes: .* of gradients are all-reduced in [0-9]* buckets"
"$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" --device cpu --world 2 --step-ms 20 --link 1 --json t.json >log 2>&1 ||
  fail "summary --step-ms"
expect_line "efficiency [0-9.]* %"
bytes=$(json_value w.json travel_bytes)
"$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" --device cpu --world 2 --json - --amp-dtype bf16 \
  --opts DIST.HALF_GRADIENTS=True >h.json 2>log || fail "summary of 16 bits"
half=$(json_value h.json travel_bytes)
"$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" --device cpu --world 2 --json s.json --opts DIST.SHARD_OPTIMIZER=True >log 2>&1 ||
  fail "summary of shares"
expect_line "of gradients are reduce-scattered in [0-9]* buckets"
expect_line "of weights are gathered after the optimizer step"
[ "$(json_value w.json sent_bytes)" = "$bytes" ] || fail "summary: of two processes each sends all of its gradients"
[ "$(json_value s.json gather_bytes)" -ge "$bytes" ] || fail "summary of shares: weights are not those of the gradients"
[ "${bytes:-0}" -gt 1000000 ] && [ "${half:-0}" -lt "$((bytes * 6 / 10))" ] || fail "summary: $bytes bytes, $half in 16 bits"
for wrong in "--world 1" "--world two" "--link 1" "--world 2 --link 0" "--world 2 --step-ms x"; do
  "$trainc" summary --cfg "$here/configs/smoke/shapes.yaml" $wrong >log 2>&1
  [ $? = 2 ] && [ "$(grep -c "^trainc: error: " log)" = 1 ] || fail "summary $wrong: not refused"
done
echo "ok: buckets"

# Two ranks stop within an epoch; one process continues with the next image.
ranks 2 "${train[@]}" --batch-size 4 --output fewer --max-steps 4 --save-steps 4 --epochs 1 >log 2>&1 || fail "two ranks leave"
"${train[@]}" --batch-size 4 --output alone4 --resume fewer/*/*/last.safetensors --epochs 1 >log 2>&1 || fail "on with fewer"
expect_line "the checkpoint has 8 steps per epoch, this run 16: resuming after 32 images of epoch 1$"
[ "$(grep -c "Train: \[1/1\]" log)" = 8 ] || fail "fewer ranks: updates"
echo "ok: another number of ranks within an epoch"

finish
