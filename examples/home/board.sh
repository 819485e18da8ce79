#!/bin/bash
# The Guest Board of the demonstration: starts it, sets a password as the first visitor does, and lists the devices on the board. Ends it then.
# usage: board.sh [PORT]
set -euo pipefail
port=${1:-8444}
for program in wire-home curl python3; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
log=$(mktemp)
wire-home --demo --web 127.0.0.1:$port 2>"$log" &
demo=$!
trap 'kill $demo 2>/dev/null || true; rm -f "$log"' EXIT
for _ in $(seq 100); do grep -q "setup=" "$log" && break; sleep 0.1; done
code=$(sed -n 's/.*#setup=//p' "$log" | head -n 1)
[ -n "$code" ] || { cat "$log" >&2; exit 1; }
api=https://127.0.0.1:$port/ws.v1
ask() { curl -sk --max-time 5 -H "Authorization: Bearer ${token:-}" -H 'Content-Type: application/json' "$@"; }
ask $api/setup -d "{\"code\": \"$code\", \"password\": \"correct horse\"}" >/dev/null
token=$(ask $api/session -d '{"password": "correct horse", "bearer": true}' | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
list() { ask $api/devices | python3 -c '
import json, sys
for device in json.load(sys.stdin)["devices"]:
    print(device["mac"], device.get("name") or device["host_name"] or "-", device["admission"])'; }
# They join within some seconds.
for _ in $(seq 100); do [ "$(list | wc -l)" -ge 10 ] && break; sleep 0.2; done
list
