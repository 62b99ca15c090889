#!/bin/bash
# TRAIN.SWA: the weights at the end of the last epochs are averaged, with batch norm statistics
# estimated again, a learning rate of their own, and exact resumption; the average is evaluated,
# saved, and exported as an EMA would be.
#
#   tests/e2e/swa.sh [TRAINC]
. "$(dirname "$0")/ranks.bash"

common=("$trainc" --cfg "$here/configs/smoke/shapes.yaml" --data-path shapes --device cpu --threads 1 --opts DATA.BATCH_SIZE 8
  TRAIN.BASE_LR 0.02 TRAIN.EPOCHS 4 TRAIN.WARMUP_EPOCHS 0 TRAIN.SCALE_LR False TRAIN.KEEP_CHECKPOINTS 9 PRINT_FREQ 1
  TRAIN.EMA.ENABLE False TRAIN.SWA.ENABLE True TRAIN.SWA.START 2)
run() { # TAG ARGUMENT...
  "${common[@]}" OUTPUT out TAG "$1" "${@:2}" >log 2>&1 || { fail "run $1"; finish; }
}
of=out/resnet20
ck() { echo "$of/$1/ckpt_epoch_$2.safetensors"; }

# Compares tensors: the average in FILE with the mean of the weights of OTHERS; or with --norms,
# its statistics with those that one batch moved by a tenth in the first of OTHERS.
compare() { # mean|norms FILE OTHERS...
  python3 - "$@" <<'END'
import json, struct, sys
def load(path):
    data = open(path, 'rb').read()
    n = struct.unpack('<Q', data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop('__metadata__')
    def values(t):
        a, b = t['data_offsets']
        return struct.unpack('<%d%s' % ((b - a) // (4 if t['dtype'] == 'F32' else 8), 'f' if t['dtype'] == 'F32' else 'q'), data[8 + n + a:8 + n + b])
    return {k: values(t) for k, t in head.items()}
what, got, others = sys.argv[1], load(sys.argv[2]), [load(f) for f in sys.argv[3:]]
names = [k for k in got if 'ema.' + k in got]
assert len(names) > 50
seen = 0
for name in names:
    norm = 'running_' in name or 'num_batches' in name
    if what == 'mean' and not norm:
        want = [sum(x) / len(others) for x in zip(*(o[name] for o in others))]
    elif what == 'norms' and 'running_' in name:
        rest = 0.9 if 'running_var' in name else 0
        want = [(x - rest) / 0.1 for x in others[0][name]]
    else:
        continue
    seen += 1
    for x, y in zip(got['ema.' + name], want):
        assert abs(x - y) <= (1e-6 if what == 'mean' else 2e-5) * max(1, abs(y)), (name, x, y)
assert seen > 30 or what == 'norms' and seen >= 38
END
}

run two
expect_line "TRAIN.SWA: average of 2 epochs, batch norm statistics estimated again"
expect_line "with the SWA weights"
tr ',' '\n' <"$(ck two 1)" | grep -aq '"ema\.' && fail "there is an average before TRAIN.SWA.START"
compare mean "$(ck two 2)" "$(ck two 2)" || fail "the first average"
compare mean "$(ck two 3)" "$(ck two 2)" "$(ck two 3)" || fail "the average of two epochs"

# Statistics of the average: with a rate of 0, they are those of the one batch of an epoch.
run norms TRAIN.EPOCHS 2 TRAIN.SWA.START 1 DATA.BATCH_SIZE 64 TRAIN.BASE_LR 0 TRAIN.WARMUP_LR 0 TRAIN.MIN_LR 0 AMP_OPT_LEVEL O0 \
  AUG.MIXUP 0 AUG.CUTMIX 0 AUG.PAD_CROP 0 AUG.SCALE "[1, 1]" AUG.RATIO "[1, 1]" AUG.HFLIP 0 AUG.COLOR_JITTER 0 AUG.AUTO_AUGMENT none \
  AUG.REPROB 0 DATA.SHUFFLE False TRAIN.WEIGHT_DECAY 0
compare norms "$(ck norms 1)" "$(ck norms 0)" || fail "the statistics of the average"
run some TRAIN.SWA.BN_BATCHES 2

# Rates: the schedule's until epoch 3, then half a cosine to SWA.LR in an epoch of 8 steps.
run rate TRAIN.SWA.LR 0.05 TRAIN.LR_SCHEDULER.NAME constant
run line TRAIN.SWA.LR 0.05 TRAIN.LR_SCHEDULER.NAME constant TRAIN.SWA.ANNEAL linear TRAIN.SWA.ANNEAL_EPOCHS 2
run kept TRAIN.LR_SCHEDULER.NAME linear
rate_at() { jq -r 'select(.kind == "train").lr' $of/$1/metrics.jsonl | sed -n "$2p"; }
for is in rate:16:0.02 rate:17:0.02 rate:21:0.035 rate:25:0.05 rate:32:0.05 line:21:0.0275 line:25:0.035 line:32:0.048125 \
  kept:17:0.0101 kept:32:0.0101; do
  IFS=: read -r tag at want <<<"$is"
  awk -v a="$(rate_at "$tag" "$at")" -v b="$want" 'BEGIN {exit !((a - b) ^ 2 < 1e-14)}' || fail "$tag: rate of step $at is $(rate_at "$tag" "$at"), not $want"
done

# The average is what eval, export, and predict read.
"$trainc" eval --resume "$(ck two 3)" --result eval.json >log 2>&1 || fail "eval"
[ "$(json_value eval.json ema_top1)" = "$(jq -r 'select(.kind == "val").ema_top1' $of/two/metrics.jsonl | tail -1)" ] || fail "eval: another score of the average"
"$trainc" export --weights "$(ck two 3)" --out exported.safetensors >log 2>&1 || fail "export"
"$trainc" eval --pretrained exported.safetensors --result exported.json >log 2>&1 || fail "eval of exported weights"
[ "$(json_value exported.json val_top1)" = "$(json_value eval.json ema_top1)" ] || fail "export wrote other weights than the average"
"$trainc" average out/resnet20/two --last 2 --out mean.safetensors >log 2>&1 || fail "average of averages"

# Killed after averaging began, or stopped by a signal: resumes bit for bit.
tensors() { tensor_bytes "$1" | md5sum; }
for how in KILL TERM; do
  for step in 26 31; do
    rm -rf again
    "${common[@]}" OUTPUT again TRAIN.SAVE_STEPS 3 TRAIN.KEEP_CHECKPOINTS 2 >log 2>&1 &
    pid=$!
    reached again/resnet20/default $step $pid || fail "SIG$how at $step: over too early"
    kill -$how $pid
    wait $pid 2>/dev/null
    "${common[@]}" OUTPUT again TRAIN.SAVE_STEPS 3 TRAIN.KEEP_CHECKPOINTS 2 >log 2>&1 || fail "SIG$how at $step: does not resume"
    [ "$(tensors again/resnet20/default/last.safetensors)" = "$(tensors $of/two/last.safetensors)" ] ||
      fail "SIG$how at $step: other weights than undisturbed"
  done
done

# Two processes, also with shards and after a head phase.
for shard in False True; do
  ranks 2 "${common[@]}" OUTPUT ranks$shard DATA.BATCH_SIZE 4 DIST.SHARD_OPTIMIZER $shard MODEL.SYNC_BN True TRAIN.FREEZE_EPOCHS 1 >log 2>&1 ||
    fail "two processes, shards $shard"
done
d=$(apart "$(file ranksTrue)" "$(file ranksFalse)")
below "$d" 1e-6 || fail "shards differ by $d"
run plain DEVICE ref TRAIN.EPOCHS 2 TRAIN.SWA.START 1 TRAIN.MAX_STEPS 16
run background TRAIN.VALIDATE background

bad() { refuses "$1" "${common[@]}" OUTPUT bad "${@:2}"; } # PATTERN KEY VALUE...
bad "a run keeps one average of its weights" TRAIN.EMA.ENABLE True
bad "TRAIN.SWA.START (4) is not before the end of TRAIN.EPOCHS (4)" TRAIN.SWA.START 4
bad "TRAIN.SWA.START (1) is within TRAIN.FREEZE_EPOCHS (2)" TRAIN.SWA.START 1 TRAIN.FREEZE_EPOCHS 2
bad "the schedule plateau sets the rate by scores" TRAIN.LR_SCHEDULER.NAME plateau
run none TRAIN.SWA.ENABLE False TRAIN.MAX_STEPS 1
expect_line "TRAIN.SWA.START has no effect: TRAIN.SWA.ENABLE is False"
run anneal TRAIN.SWA.ANNEAL_EPOCHS 3 TRAIN.MAX_STEPS 1
expect_line "TRAIN.SWA.ANNEAL_EPOCHS has no effect: TRAIN.SWA.LR is None"
"$trainc" config --data-path shapes --swa >log 2>&1
expect_line "TRAIN.SWA averages the weights instead"
finish
