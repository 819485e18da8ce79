#!/bin/sh
# Runs the lab in exact simulated time, and checks the programs, as any user.
set -e
wire lab lab.toml
echo
wire p4 check acceptor.p4
wire p4 check coordinator.p4
wire p4 check acceptor_switch.p4
wire p4 check acceptor_bump.p4
