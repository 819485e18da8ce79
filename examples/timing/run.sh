#!/bin/sh
# The schedule and the delay in exact simulated time, on gigabit links, by frames and by blocks, as any user. What they are worth on this machine
# is shown by live.sh.
set -e
cd "$(dirname "$0")"
wire lab lab.toml --world sim
echo
wire lab schedule.toml
echo
wire lab delay.toml
echo
wire lab phy.toml
