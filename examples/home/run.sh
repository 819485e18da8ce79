#!/bin/bash
# The story in simulated time, then on interfaces, with our switch and with Open vSwitch; then IPv6, other clients and IEEE 802.1X with both.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
other=$(mktemp)
trap 'rm -f "$other"' EXIT
both() { # SCRIPT: runs it with both switches, and compares
    ./$1 openvswitch >"$other" &
    openvswitch=$!
    ours=$(./$1)
    echo "$ours"
    wait $openvswitch
    echo "-- with Open vSwitch between the devices"
    diff <(echo "$ours") "$other" && echo "the same"
}
both live.sh
echo "-- IPv6"
both six.sh
echo "-- systemd-networkd and avahi"
both clients.sh
echo "-- IEEE 802.1X"
both eapol.sh
