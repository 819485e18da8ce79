#!/bin/sh
# Runs the lab in exact simulated time, and the same stream bit by bit, as any user.
set -e
cd "$(dirname "$0")"
wire lab lab.toml

# From first bit to first bit of neighbours, in bits: how many different ones, and how often.
gaps() { awk '!/#/ && $5 == "good" { if (last) print $1 - last; last = $1 }' | sort -n | uniq -c | awk '{ print $2 " bits, " $1 " times" }'; }

echo
echo "170 idles before each frame:"
wire gen --count 20000 --size 1518 | wire phy encode --idles 170 -o out/9gb.phy 2>/dev/null
wire phy decode out/9gb.phy --table | gaps
echo "the same stream as plain bits, misaligned by 17, the other way round in its bytes:"
wire gen --count 20000 --size 1518 | wire phy encode --idles 170 --raw msb --skew 17 2>/dev/null | wire phy decode --table | gaps
echo "9 Gb/s as departures in ticks of 8 ns, for comparison:"
wire gen --count 20000 --size 1518 --idles 170 | wire phy encode 2>/dev/null | wire phy decode --table | gaps
