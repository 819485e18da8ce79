#!/bin/sh
# Prints the figures of our queue disciplines next to those of Linux's, on the same traffic.
# usage: run.sh [CASE ...]; all by default
set -e
cd "$(dirname "$0")"
exec python3 -B compare.py "$@"
