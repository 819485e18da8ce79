#!/bin/sh
# Tests the program, then runs the lab in exact simulated time.
set -e
cd "$(dirname "$0")"
wire p4 test load_balancer.p4 >&2
wire lab lab.toml
cksum out/s2.pcapng
