#!/bin/bash
# Builds trainc for aarch64 and runs unit tests and a smoke run in qemu: scripts/aarch64.sh.
#
#   tests/e2e/aarch64.sh
exec "$(dirname "$0")/../../scripts/aarch64.sh" test
