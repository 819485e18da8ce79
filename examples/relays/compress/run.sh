#!/bin/sh
# Some of the rates of figure 12, and the video, in exact simulated time, as any user.
set -e
cd "$(dirname "$0")"
./figure-12.sh "90 95 97 100 101 105"
echo
./video.sh
