#!/bin/sh
# Runs the lab in exact simulated time, as any user. The capture is the same byte for byte on every machine.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
cksum out/first-light.pcapng
