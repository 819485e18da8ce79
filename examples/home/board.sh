#!/bin/bash
# The Guest Board of the demonstration: starts it, sets a password as the first visitor does, and lists the devices on the board. Ends it then.
# usage: board.sh [PORT]
set -euo pipefail
port=${1:-8444}
. "$(dirname "$0")/api.sh"
for program in wire-home curl python3; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
log=$(mktemp)
wire-home --demo --web 127.0.0.1:$port 2>"$log" &
demo=$!
trap 'kill $demo 2>/dev/null || true; rm -f "$log"' EXIT
set_password "$log" https://127.0.0.1:$port/ws.v1
# They join within some seconds.
for _ in $(seq 100); do [ "$(devices | wc -l)" -ge 10 ] && break; sleep 0.2; done
devices
