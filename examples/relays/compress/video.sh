#!/bin/sh
# The video case of paper 004 (figures 13 and 14), in exact simulated time: what a stream of digital video loses beside too much other traffic,
# and what comes of its pictures, without and with adaptive packet compression. Usage: video.sh
set -e
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "                 packet loss  pictures damaged  macroblocks lost  worst picture, dB  mean, dB"
for mode in never adaptive; do
    sed "s/MODE/$mode/; s,FILE,$work/screen.pcapng," video.toml >"$work/lab.toml"
    wire lab "$work/lab.toml" --json >"$work/report"
    # The sequence of each probe: bytes 48 to 51 of the frame.
    wire cat --no-time "$work/screen.pcapng" | cut -c134-144 | sed 's/^/0000/' | awk -v mode="$mode" -f video.awk
done
echo "the paper              0.04, block noise all the time; and with compression 0, none"
