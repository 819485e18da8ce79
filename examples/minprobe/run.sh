#!/bin/sh
# Runs the lab in exact simulated time, as any user, and a small part of figure 4.21.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
./figure-4-21.sh small
