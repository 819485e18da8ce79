#!/bin/bash
# Maximum rate of 64-byte packets by number of threads (figure 6.1 of the thesis): over a veth pair whose far end drops them, by packet sockets and by AF_XDP, and to a
# port without a wire (`dummy`), which shows the cost of generation and pacing without the kernel. Writes out/send-rate.svg. Needs root.
# usage: send-rate.sh [COUNT [THREADS]]: packets a measurement, one to THREADS threads (default: as many as processors, four at least)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "$1" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "needs root, for network namespaces"
for program in ip jq; do command -v $program >/dev/null || skip "needs $program"; done
count=${1:-3000000}
processors=$(nproc)
threads=${2:-$((processors > 4 ? processors : 4))}
out=${OUT:-$here/out} kind=${KIND:-svg}
mkdir -p "$out"
space=wire-rate-$$
work=$(mktemp -d)
trap 'ip netns del "$space-a" 2>/dev/null || true; ip netns del "$space-b" 2>/dev/null || true; rm -rf "$work"' EXIT
ip netns add "$space-a"
ip netns add "$space-b"
ip link add eth0 netns "$space-a" type veth peer name eth0 netns "$space-b"
for end in a b; do
    nsenter --net="/run/netns/$space-$end" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip -n "$space-$end" link set eth0 up
done
# Packets a second of the last line that has them: of all threads together, if there are several.
rate() {
    nsenter --net="/run/netns/$space-a" wire gen "$1" --rate 100Gb/s --line 100Gb/s --count "$count" --flows 64 --threads "$2" --json 2>"$work/error" |
        jq -sr 'map(select(.packets_per_second != null)) | last | .packets_per_second / 1e6 * 1000 | round / 1000' ||
        { cat "$work/error" >&2; echo nan; }
}
echo "$(uname -r), $processors processors, $count packets of 64 bytes; the paper: 12.6 Mpps on 4 cores with a 10 Gb/s card"
printf '%-8s %-14s %s\n' threads eth0 dummy | tee "$work/rates"
for n in $(seq "$threads"); do
    printf '%-8s %-14s %s\n' "$n" "$(rate eth0 "$n")" "$(rate dummy "$n")" | tee -a "$work/rates"
done
echo "xdp:eth0, one thread: $(rate xdp:eth0 1) Mpps"
wire plot "$work/rates" --title 'Packets of 64 bytes sent a second' --x-name threads --y-name Mpps --y-range 0:15 --mark-y '12.6=the paper, 4 cores' -o "$out/send-rate.$kind"
