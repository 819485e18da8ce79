#!/bin/sh
# Figure 9, in exact simulated time, as any user.
set -e
./figure-9.sh
