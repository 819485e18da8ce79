#!/bin/sh
# Runs both labs in exact simulated time, as any user.
set -e
wire lab lab.toml
wire lab faulty.toml
