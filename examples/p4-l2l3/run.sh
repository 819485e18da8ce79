#!/bin/sh
# Runs the lab in exact simulated time, and the test packets through both programs, as any user.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
wire p4 test l2l3.p4 l2l3.stf
wire p4 test l2l3_14.p4 l2l3.stf
