#!/bin/bash
# trainc help: word search, bash completion as if a user pressed Tab, manual pages that list each
# flag, and where make install puts files.
#
#   tests/e2e/help.sh [TRAINC]
. "$(dirname "$0")/lib.bash"

# A word from a name or a help text, ignoring case.
"$trainc" help Warm >log 2>&1 || fail "a word"
grep -q 'no key, flag, or verb is named "Warm"; it occurs in the help of:' log && grep -q "TRAIN.WARMUP_EPOCHS" log || fail "a word"
"$trainc" help pillow 2>&1 | grep -q "DATA.DATA_PATH" || fail "a word of a text"
"$trainc" help calib 2>&1 | grep -q "quantize --calib" || fail "a flag of a verb"
refuses "no verb or key is named nosuchword" "$trainc" help nosuchword
# Verbs of other programs lead to what does it here; keys that the name is part of follow.
for pair in test:eval fit:train finetune:train infer:predict validate:eval tune:sweep; do
  "$trainc" help "${pair%:*}" >log 2>&1 || fail "help ${pair%:*}"
  grep -q "trainc ${pair#*:} (" log || fail "help ${pair%:*} does not name trainc ${pair#*:}"
done
"$trainc" help test | grep -qx "TEST.CROP" || fail "help test omits the section TEST"
# Every verb has two examples; verbs that evaluate do not show the flags of training.
for verb in $("$trainc" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'); do
  "$trainc" help "$verb" >log || fail "help $verb"
  [ "$(sed -n '/^examples:/,/^$/p' log | grep -c '^  trainc ')" -ge 2 ] || fail "help $verb: fewer than two examples"
done
for verb in eval predict features quantize; do
  "$trainc" help "$verb" >log
  grep -q -- "--epochs" log && fail "help $verb shows --epochs"
  "$trainc" help "$verb" --all | grep -q -- "--epochs" || fail "help $verb --all omits --epochs"
done

# Tab in bash: $1 is the command line, whose last word is completed.
"$trainc" help --completion bash >trainc.bash || fail "--completion bash"
tab() { # LINE: end it with a space to complete an empty word
  bash --norc -c '
    source ./trainc.bash
    read -ra COMP_WORDS <<<"$1"
    [[ $1 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _trainc
    echo "${COMPREPLY[*]}"' tab "$1" 2>&1
}
is() { # LINE WORD...: what Tab offers
  local got
  got=$(tab "$1")
  [ "$got" = "$2" ] || fail "Tab after '$1': '$got', not '$2'"
}
is "trainc su" "summary"
is "trainc --optim a" "adamw adam"
is "trainc train --no-model-e" "--no-model-ema"
is "trainc eval --repo" "--report"
is "trainc train --repo" ""
is "trainc train TRAIN.BASE" "TRAIN.BASE_LR="
is "trainc --cfg some" ""
[ "$(tab "trainc ")" = "$("$trainc" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | xargs)" ] ||
  fail "Tab after trainc: not all verbs: $(tab "trainc ")"
"$trainc" help --completion zsh >_trainc || fail "--completion zsh"
if command -v zsh >/dev/null; then
  zsh -n _trainc || fail "zsh does not read its script"
else
  echo "completion of zsh: skipped, as zsh is not installed"
fi
"$trainc" help --completion fish >trainc.fish || fail "--completion fish"
if command -v fish >/dev/null; then
  fish_is() { # LINE WORD...: what fish offers
    local got
    got=$(HOME=$dir fish --no-config -c 'source trainc.fish; complete -C "$argv[1]"' -- "$1" | xargs)
    [ "$got" = "$2" ] || fail "fish offers after '$1': '$got', not '$2'"
  }
  fish_is "trainc su" "summary"
  fish_is "trainc --optim a" "adam adamw"
  fish_is "trainc train --no-model-e" "--no-model-ema"
  fish_is "trainc eval --repo" "--report"
  fish_is "trainc train TRAIN.BASE" "TRAIN.BASE_LR="
  fish_is "trainc --cfg trainc.f" "trainc.fish"
else
  echo "completion of fish: skipped, as fish is not installed"
fi
refuses "unknown shell 'csh'; choose bash, zsh, or fish" "$trainc" help --completion csh

# What a bug report needs.
"$trainc" --version >log
for want in '^trainc [0-9.]*$' '^commit: ' '^compiler: .* [0-9]' '^devices: .*cpu' 'oneDNN [0-9]' 'zlib [0-9]'; do
  grep -q "$want" log || fail "--version: no $want"
done

# The manual page has a paragraph for each flag of --help.
command -v groff >/dev/null || echo "manual pages in groff: skipped, as groff is not installed"
for verb in $("$trainc" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'); do
  "$trainc" help --man "$verb" >page || fail "--man $verb"
  want=$("$trainc" help "$verb" --all | grep -c '^  [-@]')
  [ "$(grep -c '^\.B [\\@]' page)" = "$want" ] || fail "--man $verb: $(grep -c '^\.B [\\@]' page) flags of $want"
  if command -v groff >/dev/null; then
    groff -man -ww -Tutf8 page 2>warnings >/dev/null
    [ -s warnings ] && { cat warnings; fail "--man $verb: warnings of groff"; }
  fi
done
"$trainc" help --man | grep -q '^\.B TRAIN.BASE_LR' || fail "--man: no keys"
"$trainc" help --man nothing >log 2>&1 && fail "--man of nothing"

# Installed by a package or by a user.
make -s -C "$here" install DESTDIR="$dir/root" PREFIX=/usr >log 2>&1 || fail "make install"
for f in bin/trainc share/man/man1/trainc.1 share/man/man1/trainc-train.1 share/zsh/site-functions/_trainc \
  share/bash-completion/completions/trainc share/fish/vendor_completions.d/trainc.fish \
  share/trainc/configs/swin.yaml share/trainc/scripts/import_run.py share/trainc/scripts/plot.py; do
  [ -s "root/usr/$f" ] || fail "make install: no $f"
done
nm root/usr/bin/trainc 2>&1 | grep -q "no symbols" || fail "make install: the binary is not stripped"

# Other programs' terms lead to trainc's equivalent or to a note that there is none.
for word in multilabel regression imbalance F1 threshold ensemble kfold augmentation csv parquet; do
  "$trainc" help $word >word.txt 2>&1 && grep -q "^  $word  " word.txt || fail "help $word: $(cat word.txt)"
done
"$trainc" help swa 2>&1 | grep -q "^TRAIN.SWA" || fail "help swa: no TRAIN.SWA"
"$trainc" help tta 2>&1 | grep -q "^TEST.TTA" || fail "help tta: no TEST.TTA"

finish
