#!/bin/sh
# Runs the story in simulated time.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
