#!/bin/sh
# The schedule and the delay over veth pairs, as root: what departures are worth on this machine. Plots go to out/live.
set -e
cd "$(dirname "$0")"
[ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2; exit 77; }
wire lab schedule.toml --world live --out out/live
echo
wire lab delay.toml --world live --out out/live
