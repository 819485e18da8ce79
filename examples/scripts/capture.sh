#!/bin/bash
# Captures by `cat` from a port's file and by tcpdump beside each other (figures 6.2 to 6.4 of the thesis, 001 figure 7): a train of 10,000 packets at 1 Gb/s
# over a veth pair, of 64 and of 1,518 bytes. Prints the packets of each and the spread of their intervals; draws packets over time into out/capture-64.svg, out/capture-64-first.svg
# (the first 1,000) and out/capture-1518.svg (the first 200). Needs root.
# usage: capture.sh [COUNT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "$1" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "needs root, for network namespaces and a mount"
[ -c /dev/fuse ] || skip "needs /dev/fuse"
for program in ip tcpdump jq; do command -v $program >/dev/null || skip "needs $program"; done
count=${1:-10000}
out=${OUT:-$here/out} kind=${KIND:-svg}
mkdir -p "$out"
out=$(realpath "$out")
space=wire-capture-$$
work=$(mktemp -d)
end() {
    trap - EXIT
    kill $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    ip netns del "$space-a" 2>/dev/null || true
    ip netns del "$space-b" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
ip netns add "$space-a"
ip netns add "$space-b"
ip link add eth0 netns "$space-a" type veth peer name eth0 netns "$space-b"
for end in a b; do
    # No multicast of the stack's own among the packets.
    nsenter --net="/run/netns/$space-$end" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip -n "$space-$end" link set eth0 arp off multicast off
    ip -n "$space-$end" link set eth0 up
done
cd "$work"
nsenter --net="/run/netns/$space-b" wire mount "$work/port" --on eth0 >/dev/null 2>&1 &
mount=$!
for _ in $(seq 200); do [ -e port/0 ] && break; sleep 0.05; done

# Times in us from the first packet, and the packet's number.
rows() { wire cat --json --time relative "$1" 2>/dev/null | jq -r .time | awk '{ printf "%.3f %d\n", $1 * 1e6, NR }'; }
for size in 64 1518; do
    cat port/0 >"cat-$size" &
    reader=$!
    nsenter --net="/run/netns/$space-b" tcpdump -i eth0 -w "tcpdump-$size" 2>"log-$size" &
    dump=$!
    until grep -qs 'listening on' "log-$size" && grep -q . port/0.d/readers; do sleep 0.05; done
    nsenter --net="/run/netns/$space-a" wire gen eth0 --rate 1Gb/s --size $size --count "$count" >"gen-$size"
    sleep 1
    kill -INT "$dump"
    wait "$dump" || true
    kill "$reader"
    wait "$reader" 2>/dev/null || true
    head -n1 "gen-$size"
    for by in cat tcpdump; do
        wire profile --json "$by-$size" | jq -r --arg by "$by" --arg size $size --argjson sent "$count" \
            '"\($size) bytes by \($by): \(.packets) of \($sent) packets, one every \(.delay.mean_ps / 1e3 | round / 1e3) us, sd \(.delay.sd_ps / 1e3 | round / 1e3) us, p99 \(.delay.p99_ps / 1e6) us"'
        rows "$by-$size" >"$by"
    done
    draw() { wire plot "${@:2}" --label 'cat PORT' --label tcpdump --x-name 'since the first packet [us]' --y-name packets -k points -o "$1"; }
    case $size in
    64)
        draw "$out/capture-64.$kind" cat tcpdump --title 'Packets of 64 bytes at 1 Gb/s (figure 6.2)'
        for by in cat tcpdump; do head -n 1000 "$by" >"$by-first"; done
        draw "$out/capture-64-first.$kind" cat-first tcpdump-first --title 'The first 1,000 (figure 6.3)'
        ;;
    *)
        for by in cat tcpdump; do head -n 200 "$by" >"$by-first"; done
        draw "$out/capture-1518.$kind" cat-first tcpdump-first --title 'The first 200 packets of 1,518 bytes at 1 Gb/s (figure 6.4)'
        ;;
    esac
done
kill "$mount"
wait "$mount" || true
