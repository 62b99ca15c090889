#!/bin/bash
# The machine code of the listed GPU kernels has become no worse: scripts/bench/instructions.list.
# Skipped without nvcc, or if nvdisasm is neither here nor to be had.
#
#   tests/e2e/instructions.sh
exec "$(dirname "$0")/../../scripts/bench/instructions.sh" --check
