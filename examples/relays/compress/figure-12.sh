#!/bin/sh
# Figure 12 of paper 004, in exact simulated time: throughput, loss, round-trip time and jitter by the offered rate, without and with adaptive
# packet compression, on a link of 100 Mb/s. Usage: figure-12.sh [RATES] [FOLDER]; with a folder, plots go there.
set -e
rates=${1:-"90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105"}
out=${2:+$(realpath "$2")}
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The value of a key in the lines that hold a text.
of() { sed -n "/$1/s/.*\"$2\":\\([0-9.e+-]*\\).*/\\1/p" "$work/report"; }
{
    echo "rate  none_Mb/s comp_Mb/s paper_none paper_comp  none_loss comp_loss  none_rtt_ms comp_rtt_ms  none_jitter_us comp_jitter_us  compressed"
    for rate in $rates; do
        for mode in never adaptive; do
            # 1,470 bytes of UDP payload in each packet.
            sed "s/GAP/$((11760000000 / rate))/; s/MODE/$mode/" figure-12.toml >"$work/lab.toml"
            wire lab "$work/lab.toml" --json >"$work/report"
            echo "$(of '"type":"node","node":"load"' packets) $(of '"at":"meter"' packets) $(of '"at":"meter"' 'gap":{"count":[0-9]*,"mean_ps')" \
                "$(of '"node":"ping"' rtt_mean_ps) $(of '"node":"ping"' rtt_jitter_ps) $(of '"node":"near"' compressed)"
        done | awk -v rate="$rate" '
            { through[NR] = 11760 / ($3 / 1e6); loss[NR] = 1 - $2 / $1; rtt[NR] = $4 / 1e9; jitter[NR] = $5 / 1e6; share = $6 / $1 }
            END {
                printf "%4d  %9.2f %9.2f %10.1f %10.1f  %9.4f %9.4f  %11.3f %11.3f  %14.1f %14.1f  %10.3f\n", rate, through[1], through[2],
                    rate < 95.6 ? rate : 95.6, rate < 100.7 ? rate : 100.7, loss[1], loss[2], rtt[1], rtt[2], jitter[1], jitter[2], share
            }'
    done
} | tee "$work/figure-12.txt"
[ -n "$out" ] || exit 0
cp "$work/figure-12.txt" "$out"
plot() { wire plot "$work/figure-12.txt" --x rate --y "$2" --label "$3" --title "$4" --x-name "offered, Mb/s" --y-name "$5" -o "$out/figure-12$1.svg"; }
plot a none_Mb/s,comp_Mb/s,paper_none,paper_comp "no compression,adaptive,the paper's: none,the paper's: adaptive" "Throughput" "Mb/s"
plot b none_loss,comp_loss "no compression,adaptive" "Packet loss" "share of packets"
plot c none_rtt_ms,comp_rtt_ms "no compression,adaptive" "Round-trip time" "ms"
plot d none_jitter_us,comp_jitter_us "no compression,adaptive" "Jitter" "us"
