#!/bin/bash
# HOOKS: commands that run at events of a run, with its numbers in their environment. Order,
# quoting and shell, failures, time limits, child processes, signals, several processes, and
# rejected configurations.
#
#   tests/e2e/hooks.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

lives() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" && kill "$1"; }
run=out/resnet20/default
train() { # HOOKS [ARGUMENT...]
  "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --print-freq 2 --opts HOOKS "$1" "${@:2}" >log 2>err
}

cat >tell <<'X'
#!/bin/sh
echo "$TRAINC_HOOK e=$TRAINC_EPOCH s=$TRAINC_STEP val=$TRAINC_VAL_TOP1 loss=$TRAINC_TRAIN_LOSS ckpt=$TRAINC_CHECKPOINT exit=$TRAINC_EXIT args=$*" >>told
echo "said at $TRAINC_HOOK"
X
chmod +x tell

# All events, in order; the shell splits and expands the words.
train "[{at: start, run: ./tell}, {at: step, run: ./tell 'a b' \"c d\" \$HOME, every: 3}, {at: line, run: ./tell},
  {at: epoch, run: ./tell}, {at: eval, run: ./tell}, {at: checkpoint, run: ./tell}, {at: end, run: ./tell}]" \
  --batch-size 16 || { cat err; fail "exit code"; }
want="start line step line eval epoch line step line eval epoch end" # checkpoint events come at no fixed place
got=$(cut -d' ' -f1 told | grep -v checkpoint | tr '\n' ' ' | sed 's/ $//')
[ "$(grep -c '^checkpoint' told)" = 2 ] || fail "$(grep -c '^checkpoint' told) checkpoints"
[ "$got" = "$want" ] || fail "moments: $got, not $want"
expect_line 'step e=0 s=3 .*args=a b c d $HOME$' told
expect_line 'said at epoch' err
grep -q 'said at' log && fail "what a command says is in the log"
# The numbers equal those in the run's files.
awk -F, 'NR > 1 {printf "epoch e=%d s=%d val=%.6g loss=%.6g\n", $1 + 1, 4 * ($1 + 1), $5, $2}' $run/summary.csv >want.txt
head -1 $run/summary.csv | grep -q '^epoch,train_loss,train_top1,val_loss,val_top1' || fail "summary.csv has other columns"
grep '^epoch' told | sed 's/[=]/ /g' | awk '{printf "epoch e=%d s=%d val=%.6g loss=%.6g\n", $3, $5, $7, $9}' >got.txt
cmp -s want.txt got.txt || { diff want.txt got.txt; fail "numbers at epoch"; }
expect_line "checkpoint e=2 .*ckpt=$run/ckpt_epoch_1.safetensors exit= " told
expect_line 'end e=2 s=8 .*exit=0 ' told

# A failing command is logged and does not change the run.
learned=$(cut -d, -f1-5 $run/summary.csv)
rm -rf out told
train "[{at: epoch, run: ./not_there}, {at: epoch, run: false}, {at: epoch, run: 'exit 7', shell: True},
  {at: epoch, run: 'kill -SEGV \$\$', shell: True}, {at: epoch, run: 'echo \$TRAINC_HOOK >>told', shell: True}]" \
  --batch-size 16 || { cat err; fail "exit code after failures"; }
expect_line "hook './not_there' at epoch cannot start './not_there': No such file or directory"
expect_line "hook 'false' at epoch ended with 1"
expect_line "hook 'exit 7' at epoch ended with 7"
expect_line "hook 'kill -SEGV \$\$' at epoch was killed by SIGSEGV"
[ "$(grep -c "hook 'false'" log)" = 2 ] || fail "a failure is not one line per epoch"
[ "$(cat told)" = "epoch
epoch" ] || fail "shell: $(cat told)"
[ "$(cut -d, -f1-5 $run/summary.csv)" = "$learned" ] || fail "hooks change what is learned"

# A command that exceeds its time limit is killed with its children, and so are children that
# outlive it.
rm -rf out told
began=$(date +%s)
train "[{at: start, run: 'sleep 1000 & echo \$! >child1; sleep 1000', shell: True, timeout: 0.3},
  {at: start, run: 'sleep 1000 & echo \$! >child2', shell: True},
  {at: start, run: 'echo \$\$ >child3; exec sleep 1000', shell: True, wait: False},
  {at: step, run: 'echo \$\$ >child4; exec sleep 1000', shell: True, wait: False, timeout: 0.05}]" \
  --batch-size 16 || { cat err; fail "exit code after time-outs"; }
[ $(($(date +%s) - began)) -lt 100 ] || fail "a command is waited for"
expect_line "at start was killed after its 0.3 seconds"
expect_line "at start was killed: the run is over"
expect_line "at step was killed after its 0.05 seconds"
for i in 1 2 3 4; do
  [ -s child$i ] || fail "child$i did not start"
  lives "$(cat child$i)" && fail "child$i lives on"
done

# A signal ends running commands, except those at "end".
rm -rf out
timeout -s TERM --foreground 60 "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --opts \
  HOOKS "[{at: epoch, run: 'kill \$PPID; exec sleep 1000', shell: True}, {at: end, run: 'sleep 1.5; echo \$TRAINC_EXIT >ended', shell: True}]" \
  >log 2>err
rc=$?
[ $rc = 143 ] || { cat err; fail "exit code $rc after SIGTERM"; }
expect_line "at epoch was killed: the run is stopping"
[ "$(cat ended)" = 143 ] || fail "end was not called, or with another exit code: $(cat ended)"

# A run that exits on an error kills its commands.
rm -rf out
train "[{at: start, run: 'echo \$\$ >child5; exec sleep 1000', shell: True, wait: False},
  {at: end, run: 'echo \$TRAINC_EXIT \$TRAINC_ERROR >ended', shell: True}]" TRAIN.CLIP_GRAD 0 TRAIN.BASE_LR 1e6 \
  TRAIN.WARMUP_LR 1e6 TRAIN.SCALE_LR False AMP_ENABLE False TRAIN.EPOCHS 8
[ $? = 1 ] || fail "a run that diverged ends well"
expect_line '^1 the run has diverged' ended
lives "$(cat child5)" && fail "child5 lives on"
# So does a run that is aborted.
rm -rf out
train "[{at: start, run: 'echo \$\$ >child6; exec sleep 1000', shell: True, wait: False}]" AMP.DTYPE fp16 AMP.INIT_SCALE 1e30 \
  AMP.MAX_SKIPS 2
[ $? = 1 ] || { cat err; fail "a run of skipped updates ends well"; }
[ -s child6 ] || fail "child6 did not start"
lives "$(cat child6)" && fail "child6 lives on"

# After SIGKILL of the run, the command and its children are killed, too.
rm -rf out
train "[{at: start, run: 'sleep 1000 & echo \$! >child8; echo \$\$ >child7; wait', shell: True}]" &
pid=$!
for ((i = 0; i < 100; i++)); do [ -s child7 ] && break; sleep 0.1; done
kill -9 "$(pgrep -P $pid trainc || echo $pid)"
wait $pid 2>/dev/null
for ((i = 0; i < 50; i++)); do kill -0 "$(cat child7)" "$(cat child8)" 2>/dev/null || break; sleep 0.1; done
lives "$(cat child7)" && fail "child7 lives on"
lives "$(cat child8)" && fail "child8 lives on"

# With several processes, the first runs the hooks, and the launcher does not count them as ranks.
if command -v mpirun >/dev/null; then
  rm -rf out told
  mpirun --oversubscribe --allow-run-as-root -n 2 "$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --threads 1 \
    --opts HOOKS "[{at: epoch, run: 'echo \$TRAINC_EPOCH,\$OMPI_COMM_WORLD_RANK >>told', shell: True}]" >log 2>&1 ||
    fail "two processes"
  [ "$(cat told)" = "1,
2," ] || fail "two processes: $(cat told)"
else
  echo "two processes: skipped, as mpirun is not installed"
fi

# Errors: one line, and exit code 2.
refused() { # HOOKS MESSAGE
  train "$1"; rc=$?
  [ $rc = 2 ] && [ "$(wc -l <err)" = 1 ] && expect_line "$2" err || { cat err; fail "'$1': exit code $rc"; }
}
refused "[{at: epoch}]" "HOOKS: item 0 has no run"
refused "[{run: x}]" "HOOKS: item 0 has no at"
refused "[{at: epch, run: x}]" "did you mean epoch?"
refused "[{at: epoch, run: x}, {at: end, rum: x}]" "item 1 must be a dict of at, run, .*, not of 'rum' (did you mean run?)"
refused "[{at: epoch, run: x, timeout: 0}]" "item 0 has an invalid timeout: it must be in (0, "
refused "[{at: epoch, run: \"'x\"}]" "item 0: a quote of ''x' is not closed"
refused "[{at: epoch, run: ' '}]" "item 0 has an empty run"
refused "[{at: eval, run: x, every: 2}]" "every works only at step and epoch, not at eval"
refused "[{at: [epoch], run: x}]" "field at must be a str, not \\['epoch'\\] (a list)"
refused "echo" "HOOKS must be a list of dict, not 'echo'"
printf 'BASE: ["%s"]\nHOOKS:\n  - at: epoch\n    run: x\n    shel: True\n' "$here/configs/smoke/synthetic.yaml" >own.yaml
"$trainc" --cfg own.yaml >log 2>err && fail "a file with a mistake"
expect_line "own.yaml:2:1: HOOKS must be a list: .*did you mean shell?" err

finish
