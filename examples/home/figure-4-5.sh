#!/bin/bash
# Figure 4.5 of paper 003: what a switch carries, and how long a packet takes through it, by the number of its flows, each with an exact entry
# or a wildcard one, up to the paper's 500,000; Wireline's switch and Open vSwitch's in user space. Median of RUNS. As root.
# usage: figure-4-5.sh [RUNS [FOLDER [FLOWS...]]]
set -euo pipefail
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
runs=${1:-3} out=${2:-.}
[ $# -gt 2 ] && flows=("${@:3}") || flows=(1 10 100 1000 3000 10000 100000 500000)
[ "$(id -u)" -eq 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
switches=(wire)
command -v ovs-vswitchd >/dev/null && switches+=(ovs)
median() { sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }
{
    echo "# entries, flows; for each of ${switches[*]}: packets a second of 70 bytes, median delay of packets of 500 bytes in us"
    for kind in exact wildcard; do
        for count in "${flows[@]}"; do
            line="$kind $count"
            for switch in "${switches[@]}"; do
                : >"$work/throughput" && : >"$work/delay"
                for run in $(seq "$runs"); do
                    python3 figure-4-5.py $kind "$count" throughput $switch "$work" "$run"
                    wire lab "$work/lab.toml" --world live --allow-paths --json |
                        sed -n 's/.*"node":"sink","counters":{"packets":\([0-9]*\).*/\1/p' | awk '{ printf "%.0f\n", $1 / 2 }' >>"$work/throughput"
                    python3 figure-4-5.py $kind "$count" delay $switch "$work" "$run"
                    wire lab "$work/lab.toml" --world live --allow-paths --out "$work" >/dev/null
                    python3 - "$work" >>"$work/delay" <<'P'
import struct, sys

def stamps(name):
    """When each packet passed, by its IPv4 identification: the lab sends fewer than there are of these."""
    data = open(f"{sys.argv[1]}/{name}.pcap", "rb").read()
    at, found = 24, {}
    while at < len(data):
        seconds, fraction, length, _ = struct.unpack_from("<IIII", data, at)
        found[data[at + 34 : at + 36]] = seconds * 1_000_000_000 + fraction
        at += 16 + length
    return found

came, left = stamps("in"), stamps("out")
delays = sorted(left[packet] - came[packet] for packet in came if packet in left)
if len(delays) < len(came) * 0.99:
    sys.exit(f"{len(came)} packets came and {len(left)} left")
print(delays[len(delays) // 2] / 1000)
P
                done
                line="$line $(median <"$work/throughput") $(median <"$work/delay")"
            done
            echo "$line"
        done
    done
} | tee "$out/figure-4-5.txt"
