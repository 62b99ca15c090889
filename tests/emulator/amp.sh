#!/bin/bash
# Mixed precision choices on the emulated GPU: runs tests/e2e/amp_layers.sh there.
#
#   tests/emulator/amp.sh [TRAINC]
DEVICE=cuda exec "$(dirname "$0")/../e2e/amp_layers.sh" "${1:-${EMULATED:-build/cc/emulated}/../trainc-emulated}"
