#!/bin/sh
# Clocks in exact simulated time, as any user: PTP at an idle switch, all four sources, idle and loaded, what is measured by them, and a mesh. The others take some seconds: `./run.sh all`.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
echo
wire lab four.toml
echo
wire lab four-loaded.toml
echo
wire lab journeys.toml
echo
wire lab mesh.toml
if [ "$1" = all ]; then
    for load in load-4 load-9 load-9-transparent; do
        echo
        wire lab $load.toml
    done
fi
