#!/bin/sh
# PTP at an idle switch, in exact simulated time, as any user. The others take some seconds: `./run.sh all`.
set -e
wire lab lab.toml
if [ "$1" = all ]; then
    for load in load-4 load-9 load-9-transparent; do
        wire lab $load.toml
    done
fi
