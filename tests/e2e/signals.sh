#!/bin/bash
# A run that is asked to stop, or loses its terminal, the reader of its log, or its standard
# files, saves its state and leaves no temporary files.
#
#   tests/e2e/signals.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

train=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --output out --device cpu --epochs 2000
  --opts PRINT_FREQ=1)
run=out/resnet20/default

leaves() { # WHAT CODE PID: the process ends with the exit code, and its weights are saved
  wait "$3"
  local rc=$?
  [ $rc = "$2" ] || fail "$1: exit code $rc, not $2"
  [ -s $run/last.safetensors ] || fail "$1: nothing saved"
  grep -q "stopping at step" $run/log.txt || fail "$1: no word in the log"
  rm -rf out
  echo "ok: $1"
}

# The terminal is closed (SIGHUP).
"${train[@]}" >log 2>&1 &
pid=$!
reached $run 3 $pid || fail "SIGHUP: over too early"
kill -HUP $pid
leaves SIGHUP 129 $pid

# A batch system warns before its time limit (sbatch --signal=USR1@60).
"${train[@]}" >log 2>&1 &
pid=$!
reached $run 3 $pid || fail "SIGUSR1: over too early"
kill -USR1 $pid
leaves SIGUSR1 138 $pid

# Under nohup the run keeps ignoring SIGHUP.
nohup "${train[@]}" >log 2>&1 &
pid=$!
reached $run 3 $pid || fail "nohup: over too early"
kill -HUP $pid
reached $run 10 $pid || fail "nohup: ended by SIGHUP"
kill $pid
leaves "nohup and SIGTERM" 143 $pid

# trainc | tee with Ctrl-C: the log's reader is gone when the run reports that it saves.
mkfifo pipe
"${train[@]}" >pipe 2>&1 &
pid=$!
head -c 200 <pipe >/dev/null
reached $run 5 $pid || fail "no reader: over too early"
kill -INT $pid
leaves "no reader of the log" 130 $pid

# Before the first step there is no checkpoint, so the next start may use a different
# configuration.
"${train[@]}" --val-num-samples 1000000 >log 2>&1 &
pid=$!
while [ ! -e $run/log.txt ] && kill -0 $pid; do :; done
kill -TERM $pid
wait $pid
rc=$?
if ! grep -q '"step":1,' $run/metrics.jsonl 2>/dev/null; then # or the signal came too late
  [ $rc = 143 ] || fail "SIGTERM at the start: exit code $rc"
  [ -e $run/last.safetensors ] && fail "SIGTERM at the start: a checkpoint of nothing"
  "${train[@]}" --lr 0.01 --max-steps 2 >log 2>&1 || fail "SIGTERM at the start: next start"
  echo "ok: SIGTERM at the start"
fi
rm -rf out

# In the only validation of a short run: the run ends at once, and the weights are saved.
"${train[@]}" --val-num-samples 200000 --max-steps 3 --result result.json >log 2>&1 &
pid=$!
reached $run 3 $pid || fail "SIGTERM in validation: over too early"
sleep 0.3
kill -TERM $pid
leaves "SIGTERM in validation" 143 $pid
[ "$(json_value result.json exit)" = 143 ] || fail "SIGTERM in validation: the result says another exit code"
# An interrupted validation gives no scores.
run=out/erfnet/default
"$trainc" --cfg "$here/configs/smoke/segment.yaml" --output out --device cpu --max-steps 2 \
  --val-num-samples 100000 --result result.json --opts PRINT_FREQ=1 >log 2>&1 &
pid=$!
reached $run 2 $pid || fail "SIGTERM in a segmentation's validation: over too early"
sleep 0.5
kill -TERM $pid
leaves "SIGTERM in a segmentation's validation" 143 $pid
[ "$(json_value result.json val_miou)" = null ] && ! grep -q val_iou result.json ||
  { cat result.json; fail "SIGTERM in a segmentation's validation: scores of a part"; }
run=out/resnet20/default
"$trainc" --throughput --cfg "$here/configs/smoke/synthetic.yaml" --device ref -b 64 \
  --val-batch-size 256 --val-num-samples 256 --result result.json >log 2>&1 &
pid=$!
sleep 1
kill -TERM $pid
wait $pid
[ $? = 143 ] && [ "$(json_value result.json images_per_second)" = null ] && ! grep -q "throughput" log ||
  fail "SIGTERM before a throughput was measured"
echo "ok: validations and throughput"

# During the long startup of a large model: the result describes this run and why it ended.
large=(--cfg "$here/configs/smoke/synthetic.yaml" --model resnet50 -b 4)
"$trainc" "${large[@]}" --max-steps 1 --output large --opts TRAIN.KEEP_CHECKPOINTS=1 \
  >log 2>&1 || fail "weights of a large model"
starts() { # NAME CODE SIGNAL RESULT ARGUMENT...: sends a signal during startup
  local what=$1 code=$2 sig=$3 result=$4 pid rc
  shift 4
  "$trainc" "$@" "${large[@]}" --output out --result "$result" >log 2>&1 &
  pid=$!
  # SIGTERM before exec would reach the shell instead of the program.
  until [ "$(readlink /proc/$pid/exe)" = "$trainc" ] || ! kill -0 $pid; do sleep 0.01; done
  while ! grep -q "^SigCgt:.*[4-7c-f]...$" /proc/$pid/status && kill -0 $pid; do sleep 0.01; done
  while [ "$result" = - ] && ! grep -q "learning rate" log && kill -0 $pid; do sleep 0.01; done
  kill -"$sig" $pid
  wait $pid
  rc=$?
  [ "$result" != - ] || { result=log && grep -q "learning rate" log; } || fail "$what: it was emptied"
  [ $rc = "$code" ] || fail "$what: exit code $rc"
  grep -q "^  \"exit\": $code,$" $result && grep -q '^  "steps": 0,$' $result &&
    grep -q '^  "wall_seconds": null,$' $result && [ "$(tail -1 $result)" = "}" ] &&
    grep -q "^  \"error\": \"SIG$sig before the first batch\"$" $result && [ ! -e $result.tmp ] ||
    { cat $result; fail "$what: the result"; }
  [ "$(grep -c '"exit"' $result)" = 1 ] || fail "$what: the result of the run before"
  echo "ok: $what"
}
starts "SIGTERM in the start" 143 TERM result.json
starts "SIGHUP in the start, and a code" 5 HUP result.json --opts TRAIN.SIGNAL_EXIT_CODE=5
starts "SIGINT in the start of an evaluation" 130 INT result.json --eval \
  --pretrained large/resnet50/default/last.safetensors
rm -rf large
starts "SIGTERM in the start, to the standard output" 143 TERM -
ln -s result.json link
starts "SIGTERM in the start, to a link" 143 TERM link
[ -L link ] || fail "SIGTERM in the start, to a link: it is none any more"
rm -rf out

# Without standard files, no message ends up in a file of the run.
"${train[@]}" --max-steps 8 --opts TRAIN.SAVE_STEPS=2 >log 2>&1 || fail "with standard files"
mv $run with
rm -rf out
"${train[@]}" --max-steps 8 --opts TRAIN.SAVE_STEPS=2 0<&- 1>&- 2>&- || fail "without standard files"
cmp $run/last.safetensors with/last.safetensors || fail "without standard files: other weights"
cmp $run/config.yaml with/config.yaml || fail "without standard files: another config.yaml"
[ "$(wc -l <$run/log.txt)" = "$(wc -l <with/log.txt)" ] || fail "without standard files: log.txt"
grep -q "Train:" $run/metrics.jsonl $run/summary.csv && fail "without standard files: messages in a file"
rm -rf out
echo "ok: without standard files"

# A file size limit simulates a full disk: it is reported, and the run continues to its end.
(ulimit -f 100 && "${train[@]}" --max-steps 4 --opts TRAIN.SAVE_STEPS=2 --result result.json >log 2>&1)
rc=$?
[ $rc = 1 ] && grep -q "cannot save a checkpoint: .*File too large" log && [ "$(json_value result.json steps)" = 4 ] ||
  fail "a file that is too large: exit code $rc"
[ -n "$(find out -name '*.safetensors*')" ] && fail "a file that is too large: left behind"
rm -rf out
(ulimit -f 1 && "$trainc" synth shapes --out many --train 1 --val 1 --size 64 >log 2>&1)
rc=$?
[ $rc = 1 ] && grep -q "File too large" log || fail "an image that is too large: exit code $rc"
echo "ok: files that are too large"

finish
