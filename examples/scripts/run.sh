#!/bin/bash
# Two hosts in network namespaces, and scripts between them. Needs root. PORTS names other ports on the same two interfaces, such as
# ports in Verilog: PORTS="rtl:wa rtl:wb".
set -euo pipefail
cd "$(dirname "$0")"
skip() { echo "$1" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "needs root, for network namespaces and a mount"
[ -c /dev/fuse ] || skip "needs /dev/fuse"
command -v ip > /dev/null || skip "needs ip (Debian: iproute2)"
command -v ping > /dev/null || skip "needs ping (Debian: iputils-ping)"

name=wl-scripts-$$
DIR=$(mktemp -d /tmp/$name.XXXXXX)/ports
export DIR
inside() { nsenter --net="/run/netns/$name-$1" -- "${@:2}"; }
end() {
    trap - EXIT
    kill $(jobs -p) 2> /dev/null || true
    umount "$DIR" 2> /dev/null || umount -l "$DIR" 2> /dev/null || true
    wait 2> /dev/null || true
    for space in ports a b; do ip netns del "$name-$space" 2> /dev/null || true; done
    rm -rf "${DIR%/ports}/shown"
    rmdir "$DIR" "${DIR%/ports}" 2> /dev/null || true
}
trap end EXIT
trap 'exit 1' INT TERM

for space in ports a b; do ip netns add "$name-$space"; done
number=1
for host in a b; do
    ip link add "w$host" netns "$name-ports" type veth peer name eth0 netns "$name-$host"
    ip -n "$name-ports" link set "w$host" up
    ip -n "$name-$host" link set eth0 up
    ip -n "$name-$host" addr add "10.77.0.$((number++))/24" dev eth0
done

nsenter --net="/run/netns/$name-ports" -- wire mount "$DIR" --on ${PORTS:-wa wb} > /dev/null 2>&1 &
mount=$!
until [ -e "$DIR/0" ]; do
    kill -0 "$mount" 2> /dev/null || { echo "wire mount ended: has it these ports?" >&2; exit 1; }
    sleep 0.05
done

echo "ping.sh, with host a:"
./ping.sh 10.77.0.100 10.77.0.1 3 < "$DIR/0" > "$DIR/0" 2> "${DIR%/ports}/shown"
sed 's/RTT [0-9]* ns/RTT ... ns/' "${DIR%/ports}/shown"

# One half second to host b, nothing back.
./delay.sh 500000000 < "$DIR/0" > "$DIR/1" &
cat "$DIR/1" > "$DIR/0" &
until [ "$(cat "$DIR"/[01].d/counters | grep -c '^readers=1')" -eq 2 ]; do sleep 0.05; done
echo "host a to host b through delay.sh:"
inside a ping -n -c 3 -i 0.3 -W 5 10.77.0.2 |
    awk -F'time=' '/time=/ { split($2, ms, " "); print (ms[1] >= 500 ? "at least 500 ms" : "early: " ms[1]) }'
