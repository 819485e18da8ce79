#!/bin/sh
# Figure 9 of paper 004, with real programs: throughput of a node that does nothing at the forward hook, by the offered bit rate and by the packet
# rate at 100 Mb/s, beside the kernel's own forwarding; means of so many runs and 95 % confidence intervals. As root.
# Usage: figure-9.sh [--quick] [FOLDER]; with a folder, tables and plots go there. 20 runs of 10 s, more than two hours; --quick: 3 of 1 s.
set -e
here=$(cd "$(dirname "$0")" && pwd)
. "$here/network.sh"
runs=20 time=10
[ "$1" = --quick ] && { shift; runs=3 time=1; }
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
network

# Mb/s of IP packets that reached b, and that iperf3 sent, for datagrams of so many bytes at so many b/s.
once() {
    before=$(within b cat /sys/class/net/eth0/statistics/rx_bytes /sys/class/net/eth0/statistics/rx_packets)
    within a iperf3 -u -c 10.0.3.1 -b "$1" -l "$2" -t $time -J >"$work/iperf" 2>"$work/said" || { cat "$work/said" "$work/iperf" >&2; exit 1; }
    after=$(within b cat /sys/class/net/eth0/statistics/rx_bytes /sys/class/net/eth0/statistics/rx_packets)
    awk -f "$here/iperf.awk" "$work/iperf" | awk -v size="$2" -v before="$before" -v after="$after" '{
        split(before, b, "\n"); split(after, a, "\n")
        print ((a[1] - b[1]) - 14 * (a[2] - b[2])) * 8e-6 / $5, $2 * (size + 28) / size
    }'
}
# As many of those as wanted: mean and half an interval of each.
measure() {
    for run in $(seq $runs); do once "$1" "$2"; done | awk -f "$here/mean.awk"
}
row() {
    kernel=$(measure "$2" "$3")
    relay r1 through --on eth0 --on eth1
    hook=$(measure "$2" "$3")
    relays_end
    echo "$1 $hook $kernel $4" | awk '{ printf "%9s %10.2f %8.2f %8.2f %10.2f %8.2f %8.2f %8s\n", $1, $4, $2, $3, $8, $6, $7, $10 }'
}
head="%9s %10s %8s %8s %10s %8s %8s %8s\n"
{
    printf "$head" Mb/s offered hook +-95% offered_k kernel +-95%_k paper
    for rate in 20 60 100 140 200 400 700 1000 1500 2000; do
        # The paper's begins to lose at 140 Mb/s.
        paper=$rate; [ $rate -gt 140 ] && paper=140
        row $rate $((rate * 1472 * 1000 / 1500))k 1472 $paper
    done
} | tee "$work/figure-9a.txt"
echo
{
    printf "$head" packets/s offered hook +-95% offered_k kernel +-95%_k paper
    for rate in 8333 10000 12000 20000 40000 60000 80000 100000 120000; do
        # 100 Mb/s of IP packets.
        size=$((12500000 / rate - 28))
        paper=100; [ $rate -gt 12000 ] && paper=-
        row $rate $((rate * size * 8)) $size $paper
    done
} | tee "$work/figure-9b.txt"
echo
echo "the paper: nothing is lost up to 140 Mb/s, and up to 12,000 packets a second"
[ -n "$out" ] || exit 0
mkdir -p "$out"
cp "$work"/figure-9?.txt "$out"
plot() {
    wire plot "$work/figure-9$1.txt" --x "$2" --y hook,kernel --label "hook without processing" --label "the kernel's forwarding" --title "$3" \
        --x-name "$4" --y-name "throughput, Mb/s" --mark-x "$5=the paper's limit" --y-range "0:$6" -o "$out/figure-9$1.png"
}
plot a Mb/s "Throughput by the offered bit rate, packets of 1,500 bytes" "offered, Mb/s" 140 2100
plot b packets/s "Throughput by the packet rate, 100 Mb/s" "offered, packets/s" 12000 110
