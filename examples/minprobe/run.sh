#!/bin/sh
# Runs the lab in exact simulated time, as any user, a small part of figure 4.21, and figure 4.20.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
./figure-4-21.sh small
echo
./figure-4-20.sh
