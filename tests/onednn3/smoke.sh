#!/bin/bash
# The smoke runs (tests/e2e/smoke.sh) of $TRAINC, for scripts/tests.sh, which passes no arguments.
exec bash "$(dirname "$0")/../e2e/smoke.sh" "${TRAINC:?is the program to test}"
