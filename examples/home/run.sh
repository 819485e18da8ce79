#!/bin/bash
# The story in simulated time, then on interfaces.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
./live.sh
