#!/bin/sh
# Runs the labs in exact simulated time, and checks the programs, as any user.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
wire lab hops.toml
echo
wire lab cheap.toml
echo
wire lab overload.toml
echo
for program in acceptor coordinator; do
    wire p4 check $program.p4
    wire p4 check ${program}_switch.p4
    wire p4 check ${program}_bump.p4
done
