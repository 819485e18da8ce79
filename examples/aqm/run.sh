#!/bin/sh
# Prints goodput, time in the queue and loss for six queue disciplines in the scenarios of RFC 7928.
# usage: run.sh [SCENARIO ...]: those whose title contains one of the texts; all by default
set -e
cd "$(dirname "$0")"
exec python3 table.py "$@"
