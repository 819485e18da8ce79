#!/bin/sh
# Tests the program, then runs the lab in exact simulated time.
set -e
cd "$(dirname "$0")"
wire p4 test vxlan.p4 >&2
wire lab lab.toml
cksum out/underlay.pcapng
