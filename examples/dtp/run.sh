#!/bin/sh
# Runs the labs in exact simulated time, as any user.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
wire lab faulty.toml
echo
wire lab daemon.toml
