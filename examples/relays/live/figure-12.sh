#!/bin/sh
# Figure 12 of paper 004, with real programs: throughput, loss, round-trip time and jitter by the offered rate, on a link of 100 Mb/s, with
# the kernels' forwarding alone and with adaptive packet compression; means and 95 % confidence intervals. As root. Usage:
# figure-12.sh [--quick] [--htb] [--rates "90 95 100"] [FOLDER]; with a folder, the table and plots go there. 20 runs of 10 s; --quick: 3 of 3 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
. "$here/network.sh"
runs=20 time=10 shaper=tbf rates="90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105"
while :; do
    case $1 in
    --quick) runs=3 time=3 ;;
    --htb) shaper=htb ;;
    --rates) rates=$2; shift ;;
    *) break ;;
    esac
    shift
done
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Payloads of 1,470 bytes, of each of which 0.923 is drawn by lot and zeros are behind it: what leaves is 0.95 of what came. As many as
# go out in that time, since iperf3 ends with its file.
for block in $(seq 400); do
    head -c 1357 /dev/urandom
    head -c 113 /dev/zero
done >"$work/some"
for copy in $(seq $((time * 110000000 / 8 / 588000 + 1))); do cat "$work/some"; done >"$work/payload"
network
shape $shaper

# Throughput Mb/s, loss, round-trip time ms, its mean deviation ms, share compressed.
once() {
    ip netns exec a ping -q -i 0.01 -w $time 10.0.3.1 >"$work/ping" &
    ping=$!
    within a iperf3 -u -c 10.0.3.1 -b "$1M" --pacing-timer 100 -l 1470 -t $time -F "$work/payload" -J >"$work/iperf" 2>"$work/said" || { cat "$work/said" "$work/iperf" >&2; exit 1; }
    wait $ping || :
    relays_end
    part() { sed -n "s/^compress:.* $1 \([0-9]*\).*/\1/p" "$work/r1" 2>/dev/null || :; }
    trip=$(sed -n 's,^rtt [^=]*= [0-9.]*/\([0-9.]*\)/[0-9.]*/\([0-9.]*\) ms.*,\1 \2,p' "$work/ping")
    compressed=$(part compressed) packets=$(part packets)
    echo "$(awk -f "$here/iperf.awk" "$work/iperf") ${trip:-0 0} ${compressed:-0} ${packets:-1}" | awk '{ print $1, $3, $6, $7, $8 / $9 }'
}
# As many of those as wanted: mean and half an interval of each.
measure() {
    rm -f "$work/r1"
    for run in $(seq $runs); do
        if [ "$1" = adaptive ]; then
            relay r1 compress --set mode=adaptive --set algorithm=lz4 --set ratio=0.95 --set 'cost=20 us' --on eth0 --on eth1
            relay r2 compress --set mode=never --on eth1 --on eth0
        fi
        once "$2"
    done | awk -f "$here/mean.awk"
}
{
    printf "%4s %9s %7s %9s %7s %10s %10s  %9s %9s  %11s %11s  %14s %14s  %10s\n" rate none_Mb/s +-95% comp_Mb/s +-95%_c paper_none \
        paper_comp none_loss comp_loss none_rtt_ms comp_rtt_ms none_jitter_ms comp_jitter_ms compressed
    for rate in $rates; do
        echo "$rate $(measure none "$rate") $(measure adaptive "$rate")" | awk '{
            printf "%4d %9.2f %7.2f %9.2f %7.2f %10.1f %10.1f  %9.4f %9.4f  %11.3f %11.3f  %14.3f %14.3f  %10.3f\n", $1, $2, $3, $12, $13,
                $1 < 95.6 ? $1 : 95.6, $1 < 100.7 ? $1 : 100.7, $4, $14, $6, $16, $8, $18, $20
        }'
    done
} | tee "$work/figure-12.txt"
[ -n "$out" ] || exit 0
mkdir -p "$out"
cp "$work/figure-12.txt" "$out"
plot() {
    name=$1 columns=$2 title=$3 unit=$4
    shift 4
    wire plot "$work/figure-12.txt" --x rate --y "$columns" "$@" --title "$title" --x-name "offered, Mb/s" --y-name "$unit" -o "$out/figure-12$name.png"
}
plot a none_Mb/s,comp_Mb/s,paper_none,paper_comp "Throughput" "Mb/s" --label "no compression" --label adaptive --label "the paper's, none" --label "the paper's, adaptive"
plot b none_loss,comp_loss "Packet loss" "share of packets" --label "no compression" --label adaptive
plot c none_rtt_ms,comp_rtt_ms "Round-trip time" "ms" --label "no compression" --label adaptive
plot d none_jitter_ms,comp_jitter_ms "Jitter: mean deviation of the round-trip time" "ms" --label "no compression" --label adaptive
