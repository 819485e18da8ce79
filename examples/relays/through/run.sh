#!/bin/sh
# Figure 9, in exact simulated time, as any user.
set -e
cd "$(dirname "$0")"
./figure-9.sh
