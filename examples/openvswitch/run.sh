#!/bin/sh
# Runs the lab where there are root, Open vSwitch and its test controller. Times differ from run to run, so that only what
# ping counted is shown.
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
wire lab lab.toml --check
[ "$(id -u)" = 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
for program in ovs-vswitchd ovsdb-server ovs-testcontroller ping; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
wire lab lab.toml --world live --dry | grep -o '5 packets transmitted, 5 received'
