#!/bin/bash
# Where a run's output goes: the log to stdout; the progress bar and errors to stderr.
#
#   tests/e2e/streams.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

train=("$trainc" --cfg "$here/configs/smoke/synthetic.yaml" --threads 1 -j 0 --epochs 1 --warmup-epochs 0 --output out)
file() { sed 's/^....-..-.. ..:..:.. //' out/*/"$1"/log.txt; }

# trainc 2>/dev/null >log: the same lines as log.txt.
"${train[@]}" --tag log --print-freq 1 >log 2>err || { cat err; fail "a run"; }
expect_line '^Train: \[1/1\]\[8/'
[ "$(file log)" = "$(cat log)" ] || { diff <(file log) log; fail "stdout and log.txt differ"; }
[ -s err ] && { cat err; fail "stderr without a bar, and without a mistake"; }

# The bar does not suppress the log's lines if the log goes elsewhere.
"${train[@]}" --tag both --print-freq 1 --progress on >log 2>err || fail "a run with a bar"
expect_line '^Train: \[1/1\]\[2/'
grep -q $'\r' log && fail "the bar is on stdout"

# trainc >/dev/null: only the bar is printed.
"${train[@]}" --tag bar --progress on >/dev/null 2>err || fail "a run without its log"
tr '\r' '\n' <err | grep -q '^Train 1/1: 100%|#.*8/8 \[' || { cat err; fail "no bar on stderr"; }
grep -q 'Train: \[' err && fail "the log is on stderr"

# Errors.
"${train[@]}" --epochs x >log 2>err && fail "--epochs x"
grep -q 'invalid int value' err && [ ! -s log ] || fail "a mistake is not reported on stderr only"
printf 'PK\003\004\024\000\010\010archive/data.pkl' >weights.pth
"${train[@]}" --tag refused --pretrained weights.pth >log 2>err && fail "damaged weights"
expect_line "^trainc: error: .*'weights.pth'" err
"${train[@]}" --tag warned --opts MODEL.SWIN.EMBED_DIM 64 >log 2>err || fail "a warning ends a run"
expect_line "^trainc: warning: .*EMBED_DIM has no effect" err

# The log's reader may exit, or its disk may be full.
"${train[@]}" --tag head --print-freq 1 2>err | head -1 >first
[ "${PIPESTATUS[0]}" = 0 ] || { cat err; fail "| head ends the run"; }
[ -s first ] && grep -q "\[8/" out/*/head/log.txt || fail "| head"
"${train[@]}" --tag full --print-freq 1 >/dev/full 2>err || { cat err; fail "a full disk ends the run"; }
[ "$(grep -c 'the log cannot be written to stdout: No space left' err)" = 1 ] || fail "a full disk is not reported once"

# Other subcommands print results, and their messages are not mixed with them.
"${train[@]}" --tag json --result - >result.json 2>log || fail "--result -"
head -c 1 result.json | grep -q '{' && grep -q '^Train: ' log || fail "--result - shares stdout with the log"
last=$(echo out/*/log/last.safetensors)
"$trainc" eval --resume "$last" --threads 1 -j 0 >log 2>err || fail "eval"
grep -q 'top1\|Acc@1' log || { cat err; fail "eval's numbers are not on stdout"; }

finish
