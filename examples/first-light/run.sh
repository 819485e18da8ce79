#!/bin/sh
# Runs the lab in exact simulated time, as any user.
exec wire lab lab.toml
