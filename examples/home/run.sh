#!/bin/sh
# Runs the story in simulated time.
set -e
cd "$(dirname "$0")"
command -v wire-home >/dev/null || { echo "wire-home is not built" >&2; exit 77; }
wire-home lab lab.toml
