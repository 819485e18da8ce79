#!/bin/sh
# Figure 9 of paper 004, in exact simulated time: throughput through a hook without processing, by the offered bit rate with packets of 1,500
# bytes, and by packet rate at 100 Mb/s. Usage: figure-9.sh [FOLDER]; with a folder, tables and plots go there.
set -e
out=${1:+$(realpath "$1")}
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Mb/s that came, for packets of so many bytes, so many a second.
through() {
    # Behind the packet: Ethernet header and FCS.
    sed "s/GAP/$((1000000000000 / $2))/; s/SIZE/$(($1 + 18))/" figure-9.toml >"$work/lab.toml"
    wire lab "$work/lab.toml" --json | sed -n '/"at":"meter"/s/.*"packets":\([0-9]*\).*/\1/p' | awk -v bytes="$1" '{ print $1 * bytes * 8 / 10 / 1e6 }'
}
{
    echo "  Mb/s      hook   paper"
    for rate in 20 60 100 120 140 150 160 200; do
        printf "%6d %9.1f %7s\n" $rate "$(through 1500 $((rate * 1000000 / 12000)))" $((rate < 140 ? rate : 140))
    done
} | tee "$work/figure-9a.txt"
echo
{
    echo "packets/s      hook   paper"
    for rate in 8333 10000 11000 12000 14000 16000 20000; do
        # Beyond 12,000 the paper's throughput falls; its text has no numbers for that.
        printf "%9d %9.1f %7s\n" $rate "$(through $((12500000 / rate)) $rate)" "$([ $rate -gt 12000 ] && echo - || echo 100)"
    done
} | tee "$work/figure-9b.txt"
[ -n "$out" ] || exit 0
cp "$work"/figure-9?.txt "$out"
plot() { wire plot "$work/figure-9$1.txt" --x "$2" --y "$3" --label "$4" --title "Throughput through a hook" --x-name "$5" --y-name "Mb/s" -o "$out/figure-9$1.svg"; }
plot a Mb/s hook,paper "84 us a packet,the paper's" "offered, Mb/s"
plot b packets/s hook "84 us a packet" "offered, packets/s"
