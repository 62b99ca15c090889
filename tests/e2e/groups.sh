#!/bin/bash
# TRAIN.OPTIMIZER.GROUPS and AMP.NUM_LOSSES in whole runs: summary, checkpoints, bit-exact
# resumes, sharding over several processes, loss scales in the log, and error messages.
#
#   tests/e2e/groups.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

smoke=$dir/small.yaml net=resnet20
printf 'BASE: [%s]\nDATA: {IMG_SIZE: 16, TRAIN_NUM_SAMPLES: 32, VAL_NUM_SAMPLES: 8}\n' "$here/configs/smoke/synthetic.yaml" >"$smoke"
train() { "$trainc" --cfg "$smoke" --output out --tag "$1" --opts "${@:2}" >log 2>&1; } # TAG KEY VALUE...
file() { echo "out/$net/$1/last.safetensors"; }
leave="[{at: epoch, run: 'test \$TRAINC_EPOCH = 2 || kill -TERM \$PPID', shell: True}]"
# NAME KEY VALUE...: a run that is stopped after an epoch and resumed ends with the same weights,
# moments, and scales.
again() {
  train "$1" "${@:2}" || { fail "$1"; return; }
  train "$1-again" "${@:2}" HOOKS "$leave"
  [ $? = 143 ] || fail "$1: the first part"
  train "$1-again" "${@:2}" HOOKS "[]" || fail "$1: the second part"
  expect_line "resumed from" log
  [ "$(cut -d, -f1-10 "out/$net/$1/summary.csv")" = "$(cut -d, -f1-10 "out/$net/$1-again/summary.csv")" ] ||
    fail "$1: a resumed run is another"
  # skips the header, which contains the configuration and its hooks
  cmp -s <(numbers "$1") <(numbers "$1-again") || fail "$1: a resumed run has other weights or moments"
  [ "$(state "$1")" = "$(state "$1-again")" ] || { state "$1"; state "$1-again"; fail "$1: another state"; }
}
numbers() { tensor_bytes "$(file "$1")"; }
state() { grep -ao 'control[^}]*' "$(file "$1")" | head -1; }

groups="[{match: 'fc.*', name: sgd, lr_scale: 10, weight_decay: 0, momentum: 0.9}, {match: 'layer1.*', betas: [0.8, 0.99]}]"
again groups TRAIN.OPTIMIZER.NAME adamw TRAIN.OPTIMIZER.GROUPS "$groups" TRAIN.EMA.ENABLE True
for name in momentum_buffer.fc.weight exp_avg.conv1.weight exp_avg_sq.layer1.0.conv1.weight; do
  grep -qa "\"optimizer.$name\"" "$(file groups)" || fail "no $name in the checkpoint"
done
grep -qa '"optimizer.exp_avg[a-z_]*.fc.weight"' "$(file groups)" && fail "the head has Adam's moments"
"$trainc" export --weights "$(file groups)" --out w.safetensors >log 2>&1 || fail "export"
grep -qa '"optimizer\.' w.safetensors && fail "an export has moments"

# 16-bit training on the device with sharded moments gives the same bits as without sharding.
train half TRAIN.OPTIMIZER.NAME lamb TRAIN.OPTIMIZER.GROUPS "$groups" AMP.DTYPE bf16 TRAIN.EPOCHS 1 || fail "bf16"
for shard in False True; do
  mpirun --oversubscribe -n 2 "$trainc" --cfg "$smoke" --output out --tag shard$shard --threads 1 --opts TRAIN.OPTIMIZER.NAME lamb \
    TRAIN.OPTIMIZER.GROUPS "$groups" DIST.SHARD_OPTIMIZER $shard TRAIN.EPOCHS 1 >log 2>&1 || fail "ranks, $shard"
done
cmp -s <(numbers shardFalse) <(numbers shardTrue) || fail "shares of the moments: other bits"

# Which settings may change on resume.
other() { train "$1" MODEL.RESUME "$(file groups)" TRAIN.OPTIMIZER.NAME adamw TRAIN.EPOCHS 3 "${@:2}"; }
other rates TRAIN.OPTIMIZER.GROUPS "[{match: 'fc.*', name: sgd, lr_scale: 3}]" || fail "other rates"
other none
[ $? = 1 ] || fail "moments of another optimizer"
expect_line "was trained with sgd for fc.weight, but this run uses adamw (TRAIN.OPTIMIZER.GROUPS; to load only its weights" log

"$trainc" summary --cfg "$smoke" --opts TRAIN.OPTIMIZER.NAME adamw TRAIN.OPTIMIZER.GROUPS "$groups" >log 2>&1 || fail "summary"
expect_line "^  fc\.\* *sgd *260 parameters in 2 tensors, learning rate x 10, weight decay 0$" log
expect_line "^  layer1\.\* *adamw .* rate x 1$" log
expect_line "^  all others *adamw " log

# One loss scale per loss: only the second loss overflows, because of its large weight.
two="[{type: cross_entropy}, {type: cross_entropy, stage: 2, weight: 20000}]"
again scales LOSSES "$two" AMP.DTYPE fp16 AMP.NUM_LOSSES 2 AMP.INIT_SCALE 4096.0 AMP.MIN_SCALE 0.0001 TRAIN.CLIP_GRAD 1 PRINT_FREQ 1
"$trainc" --cfg "$smoke" --output out --tag scales-log --opts LOSSES "$two" AMP.DTYPE fp16 AMP.NUM_LOSSES 2 AMP.INIT_SCALE 4096.0 \
  AMP.MIN_SCALE 0.0001 PRINT_FREQ 1 TRAIN.MAX_STEPS 4 >log 2>&1 || fail "the log of scales"
expect_line "; loss scales 4096 " log
expect_line "loss_scale 4096 [0-9.]* " log
scales() { jq --arg key "loss_scale_$1" '.[$key] // empty' out/$net/scales-log/metrics.jsonl; } # LOSS
scales 0 | grep -qx 4096 || fail "the first loss has the scales $(scales 0 | xargs)"
[ -n "$(scales 1)" ] || fail "the second loss has no scale"
scales 1 | grep -qx 4096 && fail "an overflow of a loss keeps its scale"

# Errors: one line, and exit code 2.
refused() { # MESSAGE KEY VALUE...
  train bad "${@:2}"; rc=$?
  [ $rc = 2 ] && [ "$(wc -l <log)" = 1 ] && expect_line "$1" log || fail "'$*': exit code $rc"
}
one() { refused "$2" TRAIN.OPTIMIZER.NAME adamw TRAIN.OPTIMIZER.GROUPS "$1"; }
one "[{name: sgd}]" "item 0 has no match"
one "[{match: 'fc.*', name: sgdd}]" "the name of its item 0 must be one of .* (did you mean sgd?)"
one "[{match: 'fc.*', momentum: 0.9}]" "item 0 has a field momentum, which adamw does not read"
one "[{match: 'fc.*', lr_mult: 3}]" "not of 'lr_mult'"
one "[{match: 'fc.*', lr_scale: -1}]" "item 0 has an invalid lr_scale: it must be in \\[0, 1000000\\], not -1.0"
one "[{match: 'fc.*', betas: [0.9, 1]}]" "betas of its item 0 must be below 1"
one "[{match: 'head.*'}]" "no parameter of resnet20 matches 'head.\*' of item 0: names begin with conv1, bn1, layer1, layer2, layer3, fc$"
one "[{match: 'layer4.*'}]" "matches 'layer4.\*' of item 0 (did you mean 'layer[123].\*'?)"
one "[{match: '*'}, {match: 'fc.*'}]" "'fc.\*' of item 1 matches only parameters of earlier items"
refused "'fc.\*' of item 0 matches only frozen parameters" TRAIN.OPTIMIZER.GROUPS "[{match: 'fc.*'}]" TRAIN.FREEZE "['fc.*']"
refused "AMP.NUM_LOSSES 3: LOSSES has 2 items" AMP.NUM_LOSSES 3 LOSSES "$two"
refused "AMP.NUM_LOSSES 2: LOSSES has 0 items" AMP.NUM_LOSSES 2
train note TRAIN.OPTIMIZER.NAME adamw TRAIN.OPTIMIZER.MOMENTUM 0.5 TRAIN.OPTIMIZER.GROUPS "$groups" TRAIN.EPOCHS 0
grep -q "MOMENTUM has no effect" log && fail "a warning that a key that a group reads has no effect"
train note AMP_ENABLE False AMP.NUM_LOSSES 2 LOSSES "$two" TRAIN.EPOCHS 0
expect_line "AMP.NUM_LOSSES has no effect: only fp16 has a loss scale" log

finish
