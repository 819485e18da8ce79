#!/bin/sh
# Table 3.3 of paper 003 for our learning controller: packet-ins answered a second, 16 switches with 100 stations each, over TCP on this
# machine. Usage: cbench.sh [ROUNDS]
set -e
cd "$(dirname "$0")"
port=$((20000 + $$ % 40000))
wire of controller learning --listen "ptcp:$port" >/dev/null 2>&1 &
controller=$!
trap 'kill $controller 2>/dev/null || true' EXIT
sleep 1
for mode in throughput latency; do
    echo "$mode:"
    wire of cbench --connect "tcp:127.0.0.1:$port" --mode $mode --loop "${1:-4}"
done
