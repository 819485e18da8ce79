#!/bin/sh
# Runs the lab in exact simulated time, as any user.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
