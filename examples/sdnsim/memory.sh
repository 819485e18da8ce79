#!/bin/sh
# Memory of an OpenFlow switch with two data ports (section 3.8.2 of paper 003): in all, and of this the rings of the ports, which the
# kernel and the switch share, the program's code, and the switch's own memory. As root. Usage: memory.sh [PORTS [MIB]], with
# MIB of ring for each port.
set -e
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "needs root, for a network namespace" >&2; exit 77; }
if [ -z "$INSIDE" ]; then
    INSIDE=1 exec unshare --net "$0" "$@"
fi
ports=${1:-2}
ring=${2:-8}
names=
for port in $(seq "$ports"); do
    ip link add "s$port" type veth peer name "h$port"
    ip link set "s$port" up
    ip link set "h$port" up
    names="$names s$port"
done
ip link set lo up
# shellcheck disable=SC2086
wire of switch --on $names --ring "$ring" --listen ptcp:6653:127.0.0.1 >/dev/null 2>&1 &
switch=$!
trap 'kill -INT $switch' EXIT
sleep 2
awk -v ports="$ports" '
    /^[0-9a-f]+-/ { rings = $6 ~ /^socket:/; code = $6 ~ /^\//; }
    /^Rss:/ { all += $2; if (rings) ring += $2; else if (code) program += $2; else own += $2 }
    END {
        printf "a switch of %d ports: %.1f MB\n", ports, all / 1024
        printf "  rings of the ports  %6.1f MB\n  code and libraries  %6.1f MB\n  its own             %6.1f MB\n",
            ring / 1024, program / 1024, own / 1024
    }' "/proc/$switch/smaps"
