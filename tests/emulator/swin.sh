#!/bin/bash
# One step of each Swin configuration on the emulated GPU: tests/e2e/swin_configs.sh.
#
#   tests/emulator/swin.sh [TRAINC]
set -eu
here=$(realpath "$(dirname "$0")/../..")
trainc=${1:-${EMULATED:-$here/build/cc/emulated}/../trainc-emulated}
exec "$here/tests/e2e/swin_configs.sh" "$trainc" cuda
