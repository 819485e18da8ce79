#!/bin/bash
# The story in simulated time, then on interfaces, with our switch and with Open vSwitch.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
other=$(mktemp)
trap 'rm -f "$other"' EXIT
./live.sh openvswitch >"$other" &
openvswitch=$!
ours=$(./live.sh)
echo "$ours"
wait $openvswitch
echo "-- with Open vSwitch between the devices"
diff <(echo "$ours") "$other" && echo "the same"
