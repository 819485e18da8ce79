#!/bin/sh
# The video case of paper 004 (figures 13 and 14), with real programs: what a stream of digital video of 30 Mb/s loses beside 70 Mb/s of iperf3's,
# on a link of 100 Mb/s, and what comes of its pictures; with the kernels' forwarding alone and with adaptive packet compression. As root.
# Usage: video.sh [--htb]
set -e
here=$(cd "$(dirname "$0")" && pwd)
. "$here/network.sh"
shaper=tbf
[ "$1" = --htb ] && shaper=htb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for block in $(seq 400); do
    head -c 1357 /dev/urandom
    head -c 113 /dev/zero
done >"$work/some"
for copy in $(seq 220); do cat "$work/some"; done >"$work/payload"
network
shape $shaper
ip netns exec b iperf3 -s -p 8000 >/dev/null 2>&1 &
echo "                 packet loss  pictures damaged  macroblocks lost  worst picture, dB  mean, dB"
for mode in never adaptive; do
    [ $mode = never ] || {
        relay r1 compress --set mode=adaptive --set algorithm=lz4 --set ratio=0.95 --set 'cost=20 us' --on eth0 --on eth1
        relay r2 compress --set mode=never --on eth1 --on eth0
    }
    ip netns exec b wire cat eth0 --no-time --filter 'udp dst port 8000 and greater 1000' >"$work/screen" 2>"$work/screen.log" &
    screen=$!
    ip netns exec a iperf3 -u -c 10.0.3.1 -b 70M -l 1470 -t 13 -F "$work/payload" -J >"$work/iperf" 2>"$work/said" &
    load=$!
    # 89 packets of 1,400 bytes for each picture of 120,000, 30 pictures a second, 12 seconds.
    sleep 0.5
    within a iperf3 -u -c 10.0.3.1 -p 8000 -b 29306k -l 1372 -t 12 -F "$work/payload" -J >"$work/video" 2>"$work/said" || { cat "$work/said" "$work/video" >&2; exit 1; }
    wait $load
    relays_end
    kill -TERM $screen
    wait $screen || :
    # iperf3's count of its packets: bytes 50 to 53 of the frame.
    lost=$(awk -f "$here/iperf.awk" "$work/iperf" | cut -d' ' -f3)
    cut -c140-150 "$work/screen" | sed 's/^/0000/' | awk -v mode=$mode -f "$here/../compress/video.awk"
    echo "                                                   of iperf3's packets lost: $lost"
done
echo "the paper              0.04, block noise all the time; and with compression 0, none"
