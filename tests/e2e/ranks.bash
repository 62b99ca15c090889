# Shared code of the scripts that run several processes; they source it:
#
#   . "$(dirname "$0")/ranks.bash"
#
# It sources lib.bash and makes the data set `shapes` in the temporary folder.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
# Allows root, as in a container, and more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

ranks() { mpirun --oversubscribe -n "$1" "${@:2}"; } # N COMMAND...
# Waits until the process ends, at most SECONDS; $tenths is the time it took.
ends() { # PID SECONDS
  for ((tenths = 0; tenths < 10 * $2; tenths++)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  return 1
}

# Prints the largest difference between two checkpoints, whose headers differ only in times.
apart() { # A B
  paste <(tensor_bytes "$1" | od -An -v -w4 -tf4) <(tensor_bytes "$2" | od -An -v -w4 -tf4) |
    awk '{d = $1 - $2; d = d < 0 ? -d : d; if (!(d <= most)) most = d; n++} END {print (n > 10000 ? most + 0 : "nothing")}'
}
file() { ls "$1"/*/*/last.safetensors; }
below() { awk -v x="$1" -v y="$2" 'BEGIN {exit !(x != "nothing" && x + 0 <= y + 0)}'; }

# A small transformer without batch normalization.
tiny() {
  cat <<END
BASE: [$here/configs/cifar10/swin.yaml]
MODEL:
  NAME: tiny
  NUM_CLASSES: 4
  DROP_PATH_RATE: 0.0
  SWIN: {EMBED_DIM: 24, DEPTHS: [2, 2], NUM_HEADS: [2, 4], WINDOW_SIZE: 4}
DATA: {DATA_PATH: shapes, VAL_SPLIT: val, IMG_SIZE: 16}
DEVICE: cpu
THREADS: 1
TRAIN:
  EPOCHS: 2
  WARMUP_EPOCHS: 0
  BASE_LR: 0.1
  OPTIMIZER: {NAME: sgd}
PRINT_FREQ: 1
END
}

"$trainc" synth shapes --out shapes --classes 4 --train 64 --val 22 --size 16 2>/dev/null || exit 1
