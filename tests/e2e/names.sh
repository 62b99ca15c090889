#!/bin/bash
# Malicious names of classes and files, passed through every subcommand that prints or writes
# them: no control character and no bidi control reaches a terminal or a document; no name acts as
# a tag, a formula, a line break, a path elsewhere, or a command; and all output parses.
#
#   tests/e2e/names.sh [TRAINC]
. "$(dirname "$0")/lib.bash"
mkdir in && cd in || exit 1
export LC_ALL=C PYTHONIOENCODING=utf-8

# FILE...: fails unless the text is UTF-8 without control characters, bidi controls, or a byte
# order mark.
clean() {
  python3 - "$@" <<'X' || fail "something is not clean"
import sys
bad = set(range(32)) - {10} | set(range(127, 160)) | {0x61c, 0x200e, 0x200f, 0xfeff}
bad |= set(range(0x2028, 0x202f)) | set(range(0x2066, 0x206a))
wrong = False
for path in sys.argv[1:]:
    try:
        text = open(path, 'rb').read().decode()
    except UnicodeDecodeError as e:
        print(path, e)
        wrong = True
        continue
    for n, line in enumerate(text.split('\n'), 1):
        if any(ord(c) in bad for c in line) or line.startswith('FORGED'):
            print(path, n, ascii(line[:300]))
            wrong = True
sys.exit(wrong)
X
}

# NAME ARGUMENT...: runs a subcommand; its output is checked at the end.
try() {
  local name=$1
  shift
  "$trainc" "$@" >"$name.out" 2>"$name.err"
}
must() { try "$@" || { cat -v "$1.out" "$1.err" | tail -20; fail "$1: exit code"; }; }
refused() { # NAME ARGUMENT...: fails with one line that says why
  try "$@" && fail "$1 was not refused"
  [ "$(grep -c . "$1.err")" = 1 ] || { cat -v "$1.err"; fail "$1: not one line"; }
}

# shellcheck disable=SC2016
names=($'esc\e[31m\e]0;title\a' $'bel\abs\bdel\x7f' $'line\nFORGED: yes' $'tab\tab' $'cr\rFORGED' $'rtl\xe2\x80\xaegpj\xe2\x81\xa6' $'c1\xc2\x9b31m\xc2\x85'
  $'mark\xef\xbb\xbf\xd8\x9c\xe2\x80\xa8x' '<script>alert(1)<img src=x onerror=alert(1)>' '=cmd|calc!A0' '+1+cmd()' '@SUM(1)' '-rf' '--help'
  '"quo"te'"'s, and \\ %s%n" ': {a: [b, *c]} &d # e' '!!python ? - | >' '$(touch canary)`touch canary`;touch canary|touch canary&' '${TAG}' '~' 'null' '7'
  "$(printf 'long%.0s' {1..60})")
"$trainc" synth shapes --out plain --classes 2 --train 4 --val 2 --size 32 >/dev/null 2>&1 || exit 1
image=(plain/train/*/*)
for split in train val; do
  for i in "${!names[@]}"; do
    mkdir -p "data/$split/${names[i]}"
    cp "${image[0]}" "data/$split/${names[i]}/$split$i.${image[0]##*.}"
  done
done
for i in "${!names[@]}"; do # file names may be invalid UTF-8
  cp "${image[1]}" "data/train/${names[i]}/${names[(i * 5 + 3) % ${#names[@]}]:0:60}"$'\xff\xe2\x80'".${image[0]##*.}"
done

must init init data && cp init.out init.yaml
must lists init data/train --lists lists && cp lists.out lists.yaml
python3 - <<'X' || fail "init: stdout has more than the configuration"
import os, re
for line in open('init.out'):
    assert re.match(r'( *[A-Z_]+:| *#|$)', line), line
X
must config config --cfg init.yaml
must listed config --cfg lists.yaml --check
must summary summary --cfg init.yaml
try check check --cfg init.yaml --out check.csv # the same image in many classes: exit code 1
[ $? = 1 ] && grep -q '^[0-9]* clashing' check.out || fail "check"

# A run with a hook that saves its environment.
cat >hook <<'X'
#!/bin/sh
env -0 | tr '\n\0' '\f\n' | grep -a '^TRAINC_' >"env.$TRAINC_HOOK"
X
chmod +x hook
small=(--cfg init.yaml --device cpu --output out --epochs 1 --warmup-epochs 0 --batch-size 12)
must train "${small[@]}" --opts HOOKS '[{at: epoch, run: ./hook}, {at: end, run: ./hook}]'
run=$(dirname "$(find out -name last.safetensors)")
[ -s "$run/report.html" ] || fail "no report.html"
mv env.end env.whole
weights=$run/last.safetensors
must eval eval --resume "$weights" --device cpu --report eval.d
must predict predict --weights "$weights" --device cpu data/val --json p.json --csv p.csv --sort sorted --topk 3
must stdout predict --weights "$weights" --device cpu data/train --json - --sort copies --copy
must onnx export --weights "$weights" --onnx net.onnx
must export export --weights "$weights" --out net.safetensors
must report report "$run" --out page.html
must several report out --out table.html
for to in zip tar lmdb; do
  try "pack.$to" pack --to $to --data-path data --out "packed.$to" || [ "$(grep -c error "pack.$to.err")" = 1 ] ||
    { cat -v "pack.$to.err"; fail "pack --to $to says no reason"; }
done
must keys config --cfg init.yaml DATA.CLASS_NAMES="$(printf '["a\x1b[1m\xe2\x80\xae", "b\\nFORGED"]')" --tag $'t\xe2\x80\xae' --diff
must features features --weights "$weights" --device cpu --out features.npz data/val
must sweep sweep --output swept --cfg init.yaml --device cpu --opts TRAIN.MAX_STEPS=1 --grid TAG=$'=cmd\e[1m\xe2\x80\xae,-x\nFORGED'
# Images that break later: the error that a hook receives contains one of their names.
for f in data/train/$'line\nFORGED: yes'/*; do echo no image >"$f"; done
try broken "${small[@]}" --tag broken --opts DATA.ON_ERROR fail HOOKS '[{at: end, run: ./hook}]' && fail "broken images train"
grep -q '^TRAINC_ERROR=.*data/train/line?FORGED: yes/' env.end || { cat -v env.end broken.err; fail "no TRAINC_ERROR"; }
# Invalid class names are rejected.
mkdir -p bad/train/other "bad/train/no"$'\xff\e[1m\n'"text" bad/val/x && cp "${image[0]}" bad/train/no*/ && cp "${image[0]}" bad/train/other && cp "${image[0]}" bad/val/x
refused bad check --data-path bad --num-classes 2
refused initbad init bad
refused word help $'\e[31mx\nFORGED\xe2\x80\xae'
refused flag --cfg init.yaml --tag $'../\e[31m'
refused path --cfg $'no\e[31m\nFORGED.yaml'

# Checks all output except overrides.txt, which keeps command lines as they were.
find out eval.d swept \( -name '*.csv' -o -name '*.jsonl' -o -name '*.json' -o -name '*.txt' -o -name '*.yaml' -o -name '*.html' \) ! -name overrides.txt >written
mapfile -t written <written
clean ./*.out ./*.err env.* "${written[@]}" p.csv p.json check.csv page.html table.html init.yaml
python3 - "${written[@]}" p.csv p.json stdout.out check.csv page.html table.html "$weights" net.safetensors net.onnx <<'X' || fail "what was written"
import csv, html.parser, json, sys
wrong = []
class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag == 'script' and attrs or any(k.startswith('on') or k == 'src' and not v.startswith('data:') for k, v in attrs):
            wrong.append((path, tag, attrs))
    def handle_data(self, data):
        if self.lasttag == 'script' and data.startswith('alert(1)'):
            wrong.append((path, data))
def is_number(text):
    try:
        return float(text) is not None
    except ValueError:
        return False
for path in sys.argv[1:]:
    data = open(path, 'rb').read()
    if path.endswith('.html'):
        Page().feed(data.decode())
    elif path.endswith('.csv'):
        rows = list(csv.reader(data.decode().splitlines()))
        if len({len(r) for r in rows}) > 1:
            wrong.append((path, 'rows of unlike lengths'))
        wrong += [(path, c) for r in rows for c in r if c[:1] in ('=', '+', '-', '@') and not is_number(c)]
    elif path.endswith('.jsonl'):
        [json.loads(line) for line in data.decode().splitlines()]
    elif path.endswith(('.json', '.out')):
        json.loads(data)
    elif path.endswith('.safetensors'):
        n = int.from_bytes(data[:8], 'little')
        names = json.loads(json.loads(data[8:8 + n])['__metadata__']['classes'])
        assert 'line\nFORGED: yes' in names and '=cmd|calc!A0' in names, names
    elif path.endswith('.onnx'):
        at = data.index(b'["', data.index(b'classes'))
        names = json.JSONDecoder().raw_decode(data[at:].decode(errors='ignore'))[0]
        assert 'line\nFORGED: yes' in names and '-rf' in names, names
for w in wrong[:20]:
    print(ascii(w))
sys.exit(bool(wrong))
X
# --sort makes one folder per class in its own folder, and nothing elsewhere.
[ -z "$(find sorted copies -mindepth 1 -maxdepth 1 ! -type d)" ] || fail "--sort: files next to the folders"
[ "$(find sorted -type l | wc -l)" = ${#names[@]} ] || fail "--sort: $(find sorted -type l | wc -l) links"
[ -z "$(find sorted copies -name '*[[:cntrl:]]*')" ] || fail "--sort: control characters in names"
[ -z "$(find out swept eval.d -name '*[[:cntrl:]]*')" ] || fail "control characters in the names of a run"
[ "$(ls -A ..)" = in ] || fail "files outside: $(ls -A ..)"
[ -z "$(find "$dir" -name canary)" ] || fail "a command was run"
finish
