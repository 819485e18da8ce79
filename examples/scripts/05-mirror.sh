#!/bin/bash
# Send everything that comes in on a port back to it, and on to another (paper 001, command 5).
# usage: 05-mirror.sh [FROM [TO]]
dir=${DIR:-/dev/ethpipe}
cat "$dir/${1:-0}" | tee "$dir/${1:-0}" > "$dir/${2:-1}"
