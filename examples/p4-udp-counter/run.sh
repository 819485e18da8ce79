#!/bin/sh
# Runs the lab in exact simulated time, and the test packets, as any user.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
wire p4 test udp_counter.p4 udp_counter.stf
