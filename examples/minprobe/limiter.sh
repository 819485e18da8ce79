#!/bin/sh
# Paper 002, section 4.4.4: the longest train that a rate limiter of 1 Gb/s on a line of 10 Gb/s lets through whole. The paper lost nothing of trains of less than 1,200 packets; a token bucket
# of 848 kB does that, and its depth alone decides. MinProbe's own trains have 20 packets, and no more than 100.
set -e
cd "$(dirname "$0")"
mkdir -p out
printf '%7s %8s %8s %7s\n' packets trains lost share
for n in 20 100 600 1000 1190 1195 1200 1205 1300 2400; do
    sed "s/trains(1200/trains($n/; s/count = 12000/count = $((n * 10))/" limiter.toml >out/limiter.toml
    wire lab out/limiter.toml --json | sed -n 's/.*"node":"limiter".*"forth_packets":\([0-9]*\).*"forth_dropped":\([0-9]*\).*/\1 \2/p' |
        awk -v n=$n '{ printf "%7d %8d %8d %6.1f%%\n", n, $1 / n, $2, 100 * $2 / $1 }'
done
