#!/bin/bash
# Throughput and loss by the offered rate, as in figure 12 of paper 004, with a relay written in Python, in exact simulated time.
set -e -o pipefail
cd "$(dirname "$0")"
command -v python3 >/dev/null || { echo "python3 is not here" >&2; exit 77; }
lab=$(mktemp -p . --suffix=.toml)
trap 'rm -f "$lab"' EXIT
of() { sed -n "/$1/s/.*\"$2\":\\([0-9.e+-]*\\).*/\\1/p" report; }
echo "rate  none_Mb/s  comp_Mb/s  none_loss  comp_loss  compressed"
for rate in ${1:-97 105}; do
    for mode in never adaptive; do
        sed "s/GAP/$((11760000000 / rate))/; s/MODE/$mode/" lab.toml >"$lab"
        wire lab "$lab" --allow-commands --json >report
        echo "$(of '"type":"node","node":"load"' packets) $(of '"at":"end"' packets) $(of '"at":"end"' 'gap":{"count":[0-9]*,"mean_ps') $(of '"node":"near"' modified)"
    done | awk -v rate="$rate" '
        { through[NR] = 11760 / ($3 / 1e6); loss[NR] = 1 - $2 / $1; share = $4 / $1 }
        END { printf "%4d %10.2f %10.2f %10.4f %10.4f %11.3f\n", rate, through[1], through[2], loss[1], loss[2], share }'
done
rm -f report
