#!/bin/sh
# Runs both labs in exact simulated time, as any user.
set -e
wire lab centralised.toml
echo
wire lab localised.toml
