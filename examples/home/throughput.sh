#!/bin/bash
# TCP of a permitted device through the home router and through a Linux bridge with nftables' masquerade, by turns over the same kind of path.
# usage: throughput.sh [ROUNDS [SECONDS]]. Needs root. Offloads of the hosts' interfaces: on, as machines have them, then off, as on a wire of frames.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
rounds=${1:-3} seconds=${2:-3}
[ "$(id -u)" -eq 0 ] || { echo "making namespaces needs root" >&2; exit 77; }
for program in wire-home ip nft udhcpc curl iperf3 python3 ethtool; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
work=$(mktemp -d)
name=wt$$
declare -a pids=()
. "$(dirname "$0")/api.sh"
curl_in="ip netns exec $name-home"
clean() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    for each in home linux isp-home isp-linux device-home device-linux; do ip netns del $name-$each 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean EXIT
on() { local where=$1; shift; ip netns exec $name-$where "$@"; }

for router in home linux; do
    for each in $router isp-$router device-$router; do
        ip netns add $name-$each
        on $each ip link set lo up
    done
    ip link add wan netns $name-$router type veth peer name eth0 netns $name-isp-$router
    ip link add lan netns $name-$router type veth peer name eth0 netns $name-device-$router
    on device-$router ip link set eth0 address 02:00:00:00:01:01 up
    on isp-$router ip link set eth0 up
    on isp-$router ip address add 198.51.100.1/24 dev eth0
    on $router ip link set wan up
    on $router ip link set lan up
    ip netns exec $name-isp-$router iperf3 -s >/dev/null 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do on isp-$router ss -tln | grep -q :5201 && break; sleep 0.1; done
done

on linux ip link add br0 type bridge
on linux ip link set lan master br0
on linux ip link set br0 up
on linux ip address add 10.2.0.5/30 dev br0
on linux ip address add 198.51.100.2/24 dev wan
on linux sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
on linux nft -f - <<'N'
table ip nat {
    chain forward { type filter hook forward priority 0; policy drop; ct state established,related accept; iifname br0 accept; }
    chain out { type nat hook postrouting priority 100; oifname wan masquerade; }
}
N
on device-linux ip address add 10.2.0.6/30 dev eth0
on device-linux ip route add default via 10.2.0.5

# The kernel calls a new interface running up to a second later.
for _ in $(seq 30); do on home grep -q up /sys/class/net/wan/operstate && break; sleep 0.1; done
ip netns exec $name-home wire-home --lan lan --wan wan --wan-address 198.51.100.2/24 --gateway 198.51.100.1 \
    --dns 198.51.100.1 --state "$work/home.db" >"$work/counters" 2>"$work/log" &
pids+=($!)
set_password "$work/log" https://127.0.0.1:8443/ws.v1
ask -X POST $api/permit/02:00:00:00:01:01 >/dev/null
cat >"$work/lease" <<'S'
#!/bin/sh
[ "$1" = bound ] || exit 0
ip address replace $ip/$mask dev $interface
ip route replace default via $router
S
chmod +x "$work/lease"
on device-home udhcpc -q -n -i eth0 -s "$work/lease" -t 10 -T 1 >/dev/null 2>&1

measure() { # ROUTER OPTIONS...: Mb/s
    local router=$1; shift
    on device-$router timeout $((seconds + 20)) iperf3 -c 198.51.100.1 -t "$seconds" -J "$@" |
        python3 -c 'import json, sys; print("%.0f" % (json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e6))'
}
printf '%-10s %-10s %12s %14s %8s\n' offloads direction wire-home linux ratio
for offloads in on off; do
    for router in home linux; do
        on device-$router ethtool -K eth0 tso $offloads gso $offloads gro $offloads >/dev/null
        on isp-$router ethtool -K eth0 tso $offloads gso $offloads gro $offloads >/dev/null
    done
    for direction in up down; do
        options=()
        [ $direction = up ] || options=(-R)
        : >"$work/home" && : >"$work/linux"
        for _ in $(seq "$rounds"); do
            for router in home linux; do measure $router "${options[@]}" >>"$work/$router"; done
        done
        median() { sort -n "$work/$1" | sed -n "$(((rounds + 1) / 2))p"; }
        printf '%-10s %-10s %7s Mb/s %9s Mb/s %8s\n' $offloads $direction "$(median home)" "$(median linux)" \
            "$(python3 -c "print('%.2f' % ($(median home) / $(median linux)))")"
    done
done
