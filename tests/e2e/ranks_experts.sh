#!/bin/bash
# DIST.SHARD_EXPERTS: experts of Swin-MoE that are distributed over processes give the weights of
# processes that each have all of them, and of one process with all images where no token is dropped.
# A run resumes bit for bit, also after a process was killed, and up to rounding with another number of
# processes; mistakes are refused in one line.
#
#   tests/e2e/ranks_experts.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"
moe=MODEL.SWIN_MOE
opts=(DATA.DATASET synthetic DATA.TRAIN_NUM_SAMPLES 24 DATA.VAL_NUM_SAMPLES 10 DATA.IMG_SIZE 64 MODEL.NAME tiny MODEL.NUM_CLASSES 5
  MODEL.DROP_PATH_RATE 0.1 $moe.EMBED_DIM 16 $moe.DEPTHS '[1,2]' $moe.NUM_HEADS '[2,4]' $moe.WINDOW_SIZE 8 $moe.MOE_BLOCKS '[[-1],[0,1]]'
  $moe.PRETRAINED_WINDOW_SIZES '[]' $moe.NUM_EXPERTS 4 $moe.MLP_FC2_BIAS True DATA.NUM_WORKERS 0 LOG.TENSORBOARD False LOG.REPORT False TRAIN.WARMUP_EPOCHS 0
  AMP_OPT_LEVEL O0 TRAIN.SCALE_LR False TRAIN.BASE_LR 0.05 TRAIN.OPTIMIZER.NAME sgd TRAIN.CLIP_GRAD 0.5)
train=("$trainc" train --model-type swin_moe --device cpu --threads 1 --epochs 2)

run() { # OUTPUT PROCESSES BATCH KEY VALUE...: trains; the log is in the file log
  ranks "$2" "${train[@]}" --batch-size "$3" --output "$1" --result "$1.json" --opts "${opts[@]}" "${@:4}" >log 2>&1 || {
    tail -5 log
    fail "$1: $2 processes"
  }
}
same() { # A B MOST
  local far
  far=$(apart "$(file "$1")" "$(file "$2")")
  echo "$1 and $2: $far apart"
  below "$far" "$3" || fail "$1 and $2 are $far apart"
}
one_line() { # TEXT PROCESSES KEY VALUE...
  ranks "$2" "${train[@]}" --batch-size 4 --output wrong --opts "${opts[@]}" "${@:3}" >log 2>&1 && fail "accepted: ${*:3}"
  [ "$(grep -c 'trainc: error: ' log)" = 1 ] && grep -qF -- "$1" log || { cat log; fail "no '$1'"; }
}

# Everything at once: two experts per token, tokens that are dropped, both losses, accumulation, EMA.
all=($moe.TOP_VALUE 2 $moe.CAPACITY_FACTOR 1.0 TRAIN.ACCUMULATION_STEPS 2 TRAIN.EMA.ENABLE True TRAIN.EMA.DECAY 0.9)
run copies 2 4 "${all[@]}"
run shards 2 4 "${all[@]}" DIST.SHARD_EXPERTS True
same copies shards 1e-6
awk -v a="$(json_value copies.json val_loss)" -v b="$(json_value shards.json val_loss)" \
  'BEGIN {d = a - b; exit !(a > 0 && d < 1e-4 && d > -1e-4)}' || fail "the validation loss differs"
awk -v a="$(json_value copies.json ema_loss)" -v b="$(json_value shards.json ema_loss)" \
  'BEGIN {d = a - b; exit !(a > 0 && d < 1e-4 && d > -1e-4)}' || fail "the validation loss of the EMA differs"
run bf16 2 4 "${all[@]}" DIST.SHARD_EXPERTS True AMP_OPT_LEVEL O1 AMP.DTYPE bf16 TRAIN.USE_CHECKPOINT True TRAIN.EMA.DEVICE cpu
far=$(apart "$(file shards)" "$(file bf16)")
[ "$far" != 0 ] && below "$far" 0.01 || fail "bf16: $far from fp32"
echo "ok: copies"

# One process with all images, whose experts drop no token; the gates' noise is that of the images.
free=($moe.CAPACITY_FACTOR 0.0 $moe.AUX_LOSS_WEIGHT 0.0)
run one 1 8 "${free[@]}"
run two 2 4 "${free[@]}" DIST.SHARD_EXPERTS True
same one two 1e-6
echo "ok: one process"

# Half a run resumes with the same bits, and in four processes or one up to rounding.
run half 2 4 "${free[@]}" DIST.SHARD_EXPERTS True TRAIN.MAX_STEPS 2
on=(MODEL.RESUME "$dir/half.safetensors" DIST.SHARD_EXPERTS True)
cp "$(file half)" half.safetensors
run half 2 4 "${free[@]}" DIST.SHARD_EXPERTS True
same two half 0
run four 4 2 "${free[@]}" "${on[@]}"
run alone 1 8 "${free[@]}" "${on[@]}"
expect_line "DIST.SHARD_EXPERTS has no effect: there is one process"
same two four 1e-6
same two alone 1e-6
echo "ok: another number of processes"

# A process is killed in the middle of an epoch, or when a checkpoint has just been written.
cat >kill.sh <<'END'
[ "$TRAINC_STEP" -ge "$1" ] || exit 0
for pid in $(pgrep -f -- '--output dead'); do
  tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" && kill -9 "$pid"
done
END
dies() { # MOMENT STEP RANK PROCESSES BATCH KEY VALUE...: saves after every second step
  rm -rf dead
  ranks "$4" "${train[@]}" --batch-size "$5" --output dead --save-steps 2 --opts "${opts[@]}" "${@:6}" DIST.SHARD_EXPERTS True \
    HOOKS "[{at: $1, run: sh $dir/kill.sh $2 $3}]" >log 2>&1 && fail "rank $3 was not killed"
  grep -q "process rank $3 .* exited on signal 9" log || fail "rank $3: the launcher does not name it"
}
dies step 5 1 2 4 "${free[@]}" # epoch 2 has steps 4 to 6
run dead 2 4 "${free[@]}" DIST.SHARD_EXPERTS True
expect_line "resumed from .* step [1-4]$"
same two dead 0
dies checkpoint 1 0 2 4 "${all[@]}"
run dead 2 4 "${all[@]}" DIST.SHARD_EXPERTS True
expect_line "resumed from .* step [1-4]$"
same shards dead 0
dies step 5 2 4 2 "${free[@]}"
run fewer 2 4 "${free[@]}" DIST.SHARD_EXPERTS True MODEL.RESUME "$dir/$(file dead)"
expect_line "resumed from .* step [1-4]$"
same two fewer 1e-6
echo "ok: killed processes"

# NUM_LOCAL_EXPERTS -2: an expert per two processes; each has all of them, or the run is refused.
shared=($moe.NUM_EXPERTS 0 $moe.NUM_LOCAL_EXPERTS -2 $moe.CAPACITY_FACTOR 0.0 $moe.AUX_LOSS_WEIGHT 0.0)
run fours 4 2 "${shared[@]}" TRAIN.MAX_STEPS 2
run twos 2 4 "${free[@]}" $moe.NUM_EXPERTS 2 TRAIN.MAX_STEPS 2
same fours twos 1e-6
one_line "DIST.SHARD_EXPERTS: the number of experts (2) is not a multiple of the number of processes (4)" 4 "${shared[@]}" DIST.SHARD_EXPERTS True
one_line "MODEL.SWIN_MOE.NUM_LOCAL_EXPERTS -2: each expert has 2 processes, but this run has 3" 3 "${shared[@]}"
one_line "DIST.SHARD_EXPERTS: the number of experts (4) is not a multiple of the number of processes (3)" 3 DIST.SHARD_EXPERTS True
one_line "DIST.SHARD_EXPERTS cannot be combined with DIST.SHARD_OPTIMIZER" 2 DIST.SHARD_EXPERTS True DIST.SHARD_OPTIMIZER True
one_line "DIST.SHARD_EXPERTS: lamb needs norms of whole tensors" 2 DIST.SHARD_EXPERTS True TRAIN.OPTIMIZER.NAME lamb
finish
