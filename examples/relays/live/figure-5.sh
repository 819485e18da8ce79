#!/bin/sh
# Figure 5 of paper 004: packets from eth0 and eth1 wait in queues 0 and 1 of netfilter, by the paper's own two lines of iptables, and one program answers
# both. Pings between a and b pass through it. Without iptables the rules that iptables-translate makes of the lines are given to nft. As root.
set -e
here=$(cd "$(dirname "$0")" && pwd)
. "$here/network.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
network

ip netns exec r1 wire run through --on nfqueue:0 nfqueue:1 >"$work/report" 2>"$work/said" &
relay=$!
# Both queues have a reader.
until [ "$(within r1 cat /proc/net/netfilter/nfnetlink_queue | wc -l)" = 2 ]; do kill -0 $relay 2>/dev/null || { cat "$work/said" >&2; exit 1; }; sleep 0.05; done
if command -v iptables >/dev/null; then
    cat >"$work/rules" <<'RULES'
iptables -t mangle -A FORWARD \
-j NFQUEUE --queue-num 0 -i eth0
iptables -t mangle -A FORWARD \
-j NFQUEUE --queue-num 1 -i eth1
RULES
else
    cat >"$work/rules" <<'RULES'
nft add table ip mangle
nft add chain ip mangle FORWARD '{ type filter hook forward priority mangle; }'
nft add rule ip mangle FORWARD iifname eth0 counter queue num 0
nft add rule ip mangle FORWARD iifname eth1 counter queue num 1
RULES
fi
cat "$work/rules"
within r1 sh -e "$work/rules"
within a ping -n -c 20 -i 0.05 -W 5 10.0.3.1 | grep ' received'
kill -INT $relay
wait $relay || :
cat "$work/report"
