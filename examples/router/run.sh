#!/bin/sh
# Sends the same packets to our router in simulated time and, as root, to Linux's; prints what leaves each, and compares.
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
mkdir -p out
./packets.sh >out/packets.txt
# What the hosts get, without times, questions for addresses and the chatter of a kernel about its links.
seen() {
    wire cat "out/$1.pcapng" --text --filter 'src host 10.0.0.1 or src host fd00::1 or ether src 02:00:0a:00:01:01 or ether src 02:00:0a:00:02:01 or ether src 02:00:00:00:00:01' |
        grep -vE 'ARP|who has|is at|type 1[34]|02000A[0-9A-F]* > 02000A000002' | cut -d ' ' -f 2-
}
wire lab router.toml >/dev/null
seen router >out/ours.txt
cat out/ours.txt
wire lab kernel.toml --check >/dev/null
[ "$(id -u)" = 0 ] || { echo "Linux's router needs root, for network namespaces" >&2; exit 77; }
wire lab kernel.toml --world live >/dev/null
seen router-of-a-kernel >out/kernel.txt
# On a busy machine packets that wait for a neighbour's address leave later.
sort out/ours.txt >out/ours.sorted
sort out/kernel.txt | diff out/ours.sorted - && echo "Linux's router sends the same $(wc -l <out/kernel.txt) packets"
