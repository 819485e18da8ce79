#!/bin/sh
# Figure 3.10 of paper 003: what switching a frame of 100 bytes takes, by the rate of the frames: least, median and greatest of the
# medians of ten runs, through Wireline's switch and through Open vSwitch. As root. Usage: figure-3-10.sh [RUNS] [FOLDER]
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
runs=${1:-10}
out=${2:-.}
[ "$(id -u)" = 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wire='kind = "openflow-switch"\ncontrollers = 0\nentries = ["in_port=1,actions=output:2"]'
ovs='kind = "openvswitch"\nrun = { command = "ovs-ofctl add-flow s1 in_port=1,actions=output:2", ahead = true }'
switches=wire
command -v ovs-vswitchd >/dev/null && switches="wire ovs"
{
    echo "# rate Mb/s, and least, median, greatest delay, us, for each of: $switches"
    for rate in 1 10 50 100; do
        line=$rate
        for switch in $switches; do
            eval "keys=\$$switch"
            for run in $(seq "$runs"); do
                sed "s/RATE/$rate/; s/^kind = \"SWITCH\"/$keys/" figure-3-10.toml >"$work/lab.toml"
                wire lab "$work/lab.toml" --world live --seed "$run" --json |
                    sed -n 's/.*"at":"sink.0".*"delay":{[^}]*"p50_ps":\([0-9]*\).*/\1/p; s/.*"delay":{[^}]*"p50_ps":\([0-9]*\).*"at":"sink.0".*/\1/p'
            done | sort -n >"$work/medians"
            line="$line $(awk '{ at[NR] = $1 / 1e6 } END { printf "%.1f %.1f %.1f", at[1], at[int((NR + 1) / 2)], at[NR] }' "$work/medians")"
        done
        echo "$line"
    done
} | tee "$out/figure-3-10.txt"
