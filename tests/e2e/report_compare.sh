#!/bin/bash
# trainc report: the page of one run, and the page that compares the runs of a folder or of
# several; impossible requests are refused.
#
#   tests/e2e/report_compare.sh [TRAINC]
. "$(dirname "$0")/report.bash"

more_runs
run --cfg "$here/configs/smoke/shapes.yaml" --data-path 'sh<b>&pes' --epochs 2 --tag two --opts TRAIN.BASE_LR=0.1 LOG.TENSORBOARD=False ||
  fail "a second run"

"$trainc" report out/resnet20/one --out - 2>/dev/null | cmp -s - <(sed 's|resnet20/one</|out/resnet20/one</|' $page) || fail "trainc report of a run is not its page"
"$trainc" report out --out all.html 2>log || fail "trainc report"
has log "wrote 'all.html' (6 runs)"
[ "$(grep -c '^<tr><td>' all.html)" = 6 ] || fail "all.html has not a row for each run"
has all.html '>resnet20/two<'
has all.html '>TRAIN.BASE_LR</th>'
has all.html ' failed: '
"$trainc" report out/resnet20/one out/resnet20/two --out two.html 2>log || fail "two runs"
[ "$(grep -o '<th tabindex="0">[A-Z_.]*</th>' two.html | grep -v '>exit<' | sed 's/<[^>]*>//g' | xargs)" = "TRAIN.BASE_LR LOG.TENSORBOARD" ] ||
  fail "keys in which two runs differ: $(grep -o '<th tabindex="0">[A-Z_.]*</th>' two.html | xargs)"

refused() { # PATTERN ARGUMENT...: also checks that the message is one line
  refuses "$1" "$trainc" report "${@:2}"
  [ "$(wc -l <log)" = 1 ] || fail "report ${*:2}: more than one line"
}
mkdir empty && echo mine >mine.html
refused 'no run: give the folder of a run' --out x.html
refused 'no output file: give --out FILE' out
refused "no runs found in 'empty': no folder in it contains metrics.jsonl" empty --out x.html
refused "'nowhere' is not a folder" nowhere --out x.html
refused 'not a page of trainc' out --out mine.html
cp -r out/resnet20/one broken && echo nonsense >>broken/metrics.jsonl
exits 1 "metrics.jsonl', line [0-9]*: " "$trainc" report broken --out x.html
[ "$(wc -l <log)" = 1 ] || fail "broken metrics: more than one line"

finish
