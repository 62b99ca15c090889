#!/bin/sh
# Measures how long trainc takes to open a split of a million images: CLASSES folders of 1000 hard
# links each, as class folders (first start, which reads them, and second start, from the index)
# and as lists. Prints the wall time of each start, from the command to the first batches, minus
# that of a start with one folder.
#
#   opening.sh DIR [CLASSES]      DIR: new, on a file system with hard links; CLASSES: default 1000
set -eu
dir=${1:?usage: opening.sh DIR [CLASSES]}
classes=${2:-1000}
trainc=$(realpath "${TRAINC:-./trainc}")
mkdir "$dir"
cd "$dir"
"$trainc" synth shapes --out seed --classes 2 --train 1000 --val 2 --size 16 2>/dev/null
mkdir -p folders/train one/train/c0000 lines json
find seed/train -type f | head -n 1000 | awk '{ printf "%s one/train/c0000/%04d.jpg\n", $0, NR - 1 }' |
    while read -r from to; do ln "$from" "$to"; done
for c in $(seq -f %04g 0 $((classes - 1))); do cp -al one/train/c0000 "folders/train/c$c"; done
ln -s ../folders/train lines/train
ln -s ../folders/train json/train
awk -v n="$classes" 'BEGIN {
    for (c = 0; c < n; c++)
        for (i = 0; i < 1000; i++)
            printf "c%04d/%04d.jpg\t%d\n", c, i, c
}' >lines/train.txt
awk -F'\t' 'BEGIN { printf "[" } { printf "%s[\"%s\", %d]", (NR > 1 ? ", " : ""), $1, $2 } END { print "]" }' \
    lines/train.txt >json/train.json
sleep 3 # an index of just created folders is not kept

wall() { # DATASET DIR: prints seconds
    start=$(date +%s.%N)
    "$trainc" bench --loader --dataset "$1" --data-path "$2" --model resnet18 --num-classes "$classes" \
        --img-size 32 --batch-size 8 --workers 1 --seconds 0.01 >log 2>&1 || { cat log >&2; exit 1; }
    echo "$start $(date +%s.%N)" | awk '{ print $2 - $1 }'
}

wall folder one >/dev/null
none=$(wall folder one)
ls -R folders >/dev/null # fills the page cache
for start in "first start, folders" "second start, folders" "lines" "json"; do
    case $start in *folders) kind=folder data=folders ;; *) kind=list data=$start ;; esac
    echo "$start: $(wall $kind "$data") $none" | awk '{ printf "%s %.2f s\n", substr($0, 1, index($0, ":")), $(NF - 1) - $NF }'
done
