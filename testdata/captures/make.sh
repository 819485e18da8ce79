#!/usr/bin/env bash
# Makes the captures of this folder anew, by the tools named in README.md. Needs root, tcpdump, wireshark-common and tshark.
# The packets are real ones between two network namespaces, so that their bytes and stamps differ from run to run.
set -euo pipefail
cd "$(dirname "$0")"
a=wl-captures-a b=wl-captures-b work=$(mktemp -d)
cleanup() {
    ip netns del $a 2>/dev/null || true
    ip netns del $b 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

ip netns add $a
ip netns add $b
ip link add wlv0 netns $a address 02:00:00:00:00:01 type veth peer name wlv1 netns $b address 02:00:00:00:00:02
for side in "$a wlv0 1" "$b wlv1 2"; do
    read -r ns dev host <<<"$side"
    ip -n $ns link set lo up
    ip -n $ns link set $dev up
    ip -n $ns address add 10.0.0.$host/24 dev $dev
    ip -n $ns address add fd00::$host/64 dev $dev nodad
    ip -n $ns link add tunnel address 02:00:00:00:01:0$host type vxlan id 42 dstport 4789 remote 10.0.0.$((3 - host)) dev $dev
    ip -n $ns link set tunnel up
    ip -n $ns address add 10.0.1.$host/24 dev tunnel
done
sleep 1

traffic() {
    ip netns exec $a ping -q -c 2 -i 0.2 10.0.0.2
    ip netns exec $a ping -q -c 1 -s 3000 10.0.0.2
    ip netns exec $a ping -q -c 1 fd00::2
    ip netns exec $a ping -q -c 1 -s 3000 fd00::2
    ip netns exec $a ping -q -c 1 10.0.1.2
    ip netns exec $a ping -q -c 1 127.0.0.1
    ip netns exec $b timeout 2 nc -l -p 5000 >/dev/null &
    listener=$!
    sleep 0.3
    echo hello | ip netns exec $a timeout 1 nc -q 0 10.0.0.2 5000 2>/dev/null || true
    echo hello | ip netns exec $a timeout 1 nc -u -w 1 10.0.0.2 5001 || true
    wait $listener 2>/dev/null || true
} >/dev/null

# Several interfaces, with comments, filters, operating system and drop counts: dumpcap's own pcapng.
ip netns exec $a dumpcap -q -i wlv0 -f 'ip or ip6 or arp' -i lo -w "$work/two.pcapng" --capture-comment 'two interfaces' \
    2>/dev/null &
dumpcap=$!
ip netns exec $a tcpdump -q -U -i wlv0 --time-stamp-precision=nano -w "$work/nano.pcap" 2>/dev/null &
tcpdump=$!
sleep 1.5
traffic
sleep 1.5
kill -TERM $dumpcap $tcpdump
wait $dumpcap $tcpdump || true
cp "$work/two.pcapng" two-interfaces.pcapng
cp "$work/nano.pcap" nano.pcap

# The same packets in microseconds; cut to 60 bytes; with a comment on a packet.
editcap -F pcap nano.pcap micro.pcap
editcap -F nsecpcap -s 60 nano.pcap cut-60.pcap
editcap -F pcapng -a '2:the second packet' nano.pcap comment.pcapng

# Two sections in one file, as a plain concatenation makes them.
cat two-interfaces.pcapng comment.pcapng >two-sections.pcapng

# Headers that this kernel may not make: stacked tags, MPLS, GRE, extension headers; from a hex dump.
text2pcap -q -t '%H:%M:%S.%f' tunnels.txt tunnels.pcapng 2>/dev/null

# The other byte order, and files with damage.
python3 damage.py
