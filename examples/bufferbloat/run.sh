#!/bin/sh
# Prints the lab's report, then round trips under load for five queue disciplines at the uplink, as means over seeds with 95 % confidence intervals, then each queue's line for the first seed.
# usage: run.sh [SEEDS] (default 20)
set -e
cd "$(dirname "$0")"
mkdir -p out
wire lab lab.toml
echo
disciplines=fifo,codel,fq_codel,cake,dualpi2
wire lab lab.toml --sweep "link.0.forth.queue=$disciplines" --seeds "${1:-20}" --measure round-trip --measure drops --plot out/round-trips.png
for discipline in $(echo $disciplines | tr , ' '); do
    sed "s|\"fifo\"|\"$discipline\"|; s|out/uplink.png|uplink-$discipline.png|" lab.toml >"out/$discipline.toml"
    echo
    wire lab "out/$discipline.toml" | grep -A1 'queue at'
done
