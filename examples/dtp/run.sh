#!/bin/sh
# Runs the labs in exact simulated time, as any user.
set -e
wire lab lab.toml
echo
wire lab faulty.toml
echo
wire lab daemon.toml
