#!/bin/sh
# Runs the labs in exact simulated time, as any user; of the fat tree only what it is and how much it did.
set -e
cd "$(dirname "$0")"
wire lab centralised.toml
echo
wire lab localised.toml
echo
wire lab in-band.toml
echo
wire lab fat-tree.toml | sed -n "1,3p"
