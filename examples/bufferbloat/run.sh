#!/bin/sh
# Prints the lab's report, then round trips under load for five queue disciplines at the uplink, as means over seeds with 95 % confidence intervals, then for the first seed each queue's
# line, and why its 20th drop came to be.
# usage: run.sh [SEEDS] (default 20)
set -e
cd "$(dirname "$0")"
mkdir -p out
wire lab lab.toml
echo
disciplines=fifo,codel,fq_codel,cake,dualpi2
wire lab lab.toml --sweep "link.0.forth.queue=$disciplines" --seeds "${1:-20}" --measure round-trip --measure drops --plot out/round-trips.png
echo
# The uploads by DCTCP with pacing: without ECN, with it, and in the low-latency queue.
wire lab lab.toml --set link.0.forth.queue=dualpi2 --set node.laptop.program.0.congestion=dctcp --set node.laptop.program.0.pacing=true \
    --sweep node.laptop.program.0.ecn=off,on,l4s --seeds "${1:-20}" --measure round-trip --measure queue --measure busy --measure drops
for discipline in $(echo $disciplines | tr , ' '); do
    echo
    wire lab lab.toml --set "link.0.forth.queue=$discipline" --set "plot.0.file=out/uplink-$discipline.png" \
        --set "plot.1.file=out/laptop-$discipline.png" --why 20 |
        sed -n '/^queue at/,/^Each change/p'
done
