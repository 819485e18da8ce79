#!/bin/bash
# IPv6 on interfaces: a provider that delegates a prefix, and devices with the kernel's own addresses, dhclient and dhcpcd. Needs root.
# usage: six.sh [wireline | openvswitch]: the switch between the devices.
set -euo pipefail
switch=${1:-wireline}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || { echo "making namespaces needs root" >&2; exit 77; }
programs=(wire-home ip nft dhcpd dnsmasq dhclient dhcpcd python3 curl dig ping)
[ "$switch" = wireline ] || programs+=(ovs-vswitchd ovsdb-server ovs-vsctl ethtool)
for program in "${programs[@]}"; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
work=$(mktemp -d)
name=ws$$
declare -a pids=()
. "$(dirname "$0")/api.sh"
curl_in="ip netns exec $name-router"
clean() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    for each in router isp anna ben printer; do ip netns del $name-$each 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean EXIT
on() { local where=$1; shift; ip netns exec $name-$where "$@"; }

for each in router isp anna ben printer; do
    ip netns add $name-$each
    on $each sh -c 'for at in all default lo; do echo 0 >/proc/sys/net/ipv6/conf/$at/disable_ipv6; done'
    on $each ip link set lo up
done
join() { # NAMESPACE MAC INTERFACE [MAC]: connects eth0 of the namespace to the router's interface
    ip link add $3 ${4:+address $4} netns $name-router type veth peer name eth0 netns $name-$1
    on $1 ip link set eth0 address $2
    # Open vSwitch in its own process forwards frames whose checksums the sender leaves to a card as they are.
    [ "$switch" = wireline ] || on $1 ethtool -K eth0 tx off >/dev/null
    on router ip link set $3 up
}
join isp 02:00:00:00:09:01 wan 02:00:00:00:09:02
on isp ip link set eth0 up
join printer 02:00:00:00:01:01 lan1
join anna 02:00:00:00:01:02 lan2
join ben 02:00:00:00:01:03 lan3

# The provider: router advertisements and names by dnsmasq, an address and a prefix by dhcpd, a web server for the Internet.
on isp sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
on isp ip address add 198.51.100.1/24 dev eth0
on isp ip address add 2001:db8:1::1/64 dev eth0 nodad
for each in 80 66; do on isp ip address add 2001:db8:53::$each/128 dev lo nodad; done
on isp ip route add 2001:db8:100::/40 via fe80::ff:fe00:902 dev eth0
ip netns exec $name-isp dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts --port=53 --interface=eth0 --bind-dynamic \
    --pid-file="$work/dnsmasq" --enable-ra --dhcp-range=2001:db8:1::,ra-only --dhcp-leasefile="$work/ra" --ra-param=eth0,4 \
    --address=/www.example/2001:db8:53::80 --address=/ads.example/2001:db8:53::66 >"$work/dnsmasq.log" 2>&1 &
pids+=($!)
provider() { # PREFIX: a DHCPv6 server that delegates it
    echo "default-lease-time 60; preferred-lifetime 40; option dhcp-renewal-time 10; option dhcp-rebinding-time 30;
subnet6 2001:db8:1::/64 { range6 2001:db8:1::88 2001:db8:1::88; prefix6 $1 $1 /56; }" >"$work/dhcpd.conf"
    : >"$work/dhcpd.leases"
    ip netns exec $name-isp dhcpd -6 -f -cf "$work/dhcpd.conf" -lf "$work/dhcpd.leases" -pf "$work/dhcpd.pid" eth0 >"$work/dhcpd.log" 2>&1 &
    dhcpd=$!
    pids+=($dhcpd)
}
mkdir "$work/www"
echo "a page" >"$work/www/index.html"
for each in isp printer; do
    (cd "$work/www"; exec ip netns exec $name-$each python3 -m http.server --bind :: 80 >/dev/null 2>&1) &
    pids+=($!)
done
provider 2001:db8:100::

# An Open vSwitch of the namespace's own, which forwards in its own process.
if [ "$switch" = openvswitch ]; then
    export OVS_RUNDIR=$work OVS_LOGDIR=$work OVS_DBDIR=$work
    ovsdb-tool create "$work/conf.db" "$(ls /usr/share/openvswitch/vswitch.ovsschema)"
    ip netns exec $name-router ovsdb-server "$work/conf.db" --remote=punix:"$work/db.sock" 2>"$work/ovsdb.log" &
    pids+=($!)
    for _ in $(seq 100); do [ -S "$work/db.sock" ] && break; sleep 0.1; done
    ovs-vsctl --no-wait init
    ip netns exec $name-router ovs-vswitchd unix:"$work/db.sock" 2>"$work/vswitchd.log" &
    pids+=($!)
fi

start() {
    ip netns exec $name-router wire-home --lan lan1 lan2 lan3 --wan wan --wan-address 198.51.100.2/24 --gateway 198.51.100.1 \
        --dns 198.51.100.1 --switch "$switch" --state "$work/home.db" >"$work/counters" 2>"$work/log" &
    router=$!
    pids+=($router)
    for _ in $(seq 100); do grep -qE "setup=|the board is at" "$work/log" && break; sleep 0.1; done
}
start
set_password "$work/log" https://127.0.0.1:8443/ws.v1

address() { # NAMESPACE PREFIX: waits for an address of the prefix, and prints it
    local text
    for _ in $(seq 600); do
        text=$(on $1 ip -6 -o address show dev eth0 scope global -tentative | awk -v prefix=$2 'index($4, prefix) == 1 && !/deprecated/ && !found { print $4; found = 1 }')
        [ -n "$text" ] && break
        sleep 0.1
    done
    echo "$1 has ${text:-no address of $2}"
}
page() { # NAMESPACE URL
    local text
    text=$(on $1 curl -s --max-time 3 "$2") && echo "$1 reads $text at $2" || echo "$1 cannot read $2"
}
reach() { # Waits until anna reaches the Internet.
    for _ in $(seq 30); do on anna ping -c 1 -W 1 2001:db8:53::80 >/dev/null && break; sleep 0.2; done
}
name_of() { # NAMESPACE NAME: a query to the gateway of its link
    { on $1 dig +time=2 +tries=1 +noall +comments +answer @2001:db8:100:4::1 $2 AAAA || true; } |
        awk -v name=$1 -v asked=$2 '/status:/ { sub(",", "", $6); status = $6 } $4 == "AAAA" { answer = $5 } END { print name, "asks for", asked ":", status ? status : "no answer", answer }'
}
permit() { ask -X POST $api/permit/$1 >/dev/null; }
# The kernel asks for a router when its interface comes up; the home learns of devices from that.
count=0
for each in printer anna ben; do
    # The order in which devices appear is that of their prefixes.
    count=$((count + 1))
    on $each ip link set eth0 up
    for _ in $(seq 100); do [ "$(devices | wc -l)" -ge $count ] && break; sleep 0.1; done
done

echo "-- no decision yet"
devices
on anna ip -6 -o address show dev eth0 scope global | grep . || echo "anna has no global address"
page anna http://[2001:db8:53::80]/
echo "-- printer and anna are permitted"
permit 02:00:00:00:01:01
permit 02:00:00:00:01:02
address printer 2001:db8:100:2:
address anna 2001:db8:100:4:
reach # The router has its default route when the provider has answered its solicitation.
page anna http://[2001:db8:53::80]/
page anna http://[2001:db8:100:2:0:ff:fe00:101]/
page ben http://[2001:db8:53::80]/
echo "-- anna's dhclient asks for an address"
on anna timeout 30 dhclient -6 -1 -sf /bin/true -lf "$work/anna.leases" -pf "$work/anna.pid" -v eth0 >"$work/anna.log" 2>&1 || true
sed -n 's/^ *iaaddr \(.*\) {/anna may have \1/p; s/^ *option dhcp6.name-servers \(.*\);/anna may ask \1/p' "$work/anna.leases" | sort -u
[ ! -s "$work/anna.pid" ] || kill "$(cat "$work/anna.pid")" 2>/dev/null || true
echo "-- ben is permitted, and his dhcpcd asks for a prefix"
permit 02:00:00:00:01:03
printf 'noipv6rs\noption rapid_commit\ninterface eth0\nia_pd 2/::/64 lo/0\n' >"$work/dhcpcd.conf"
on ben unshare -m sh -c "mount -t tmpfs none /run && mount -t tmpfs none /var/lib && mkdir -p /run/dhcpcd /var/lib/dhcpcd && exec timeout 30 dhcpcd -6 -1 -B -d -t 25 -f $work/dhcpcd.conf -c /bin/true eth0" >"$work/ben.log" 2>&1 || true
sed -n 's/.*: delegated prefix \(.*\)/ben is delegated \1/p' "$work/ben.log" | sort -u
on ben ip address replace 2001:db8:100:7::5/128 dev lo
on ben ping -c 1 -W 3 -I 2001:db8:100:7::5 2001:db8:53::80 >/dev/null && echo "ben reaches the Internet from his prefix" || echo "ben's prefix reaches nothing"
on isp ping -c 1 -W 2 2001:db8:100:7::5 >/dev/null && echo "the Internet reaches him" || echo "the Internet does not reach him by itself"
echo "-- ads.example is denied to anna"
ask -X POST $api/deny-dns/02:00:00:00:01:02/ads.example >/dev/null
name_of anna www.example
name_of anna ads.example
page anna http://[2001:db8:53::80]/
echo "-- addresses on the board"
ask $api/devices | python3 -c '
import json, sys
for device in json.load(sys.stdin)["devices"]:
    print(device["mac"], *device["prefixes"], "in use:", *sorted(a for a in device["addresses"] if not a.endswith("::5")))'
echo "-- the provider has another prefix"
kill $dhcpd; wait $dhcpd 2>/dev/null || true
provider 2001:db8:101::
address printer 2001:db8:101:2:
address anna 2001:db8:101:4:
reach
page anna http://[2001:db8:53::80]/
echo "-- anna is evicted"
ask -X POST $api/deny/02:00:00:00:01:02 >/dev/null
page anna http://[2001:db8:53::80]/
page anna http://[2001:db8:101:2:0:ff:fe00:101]/
kill $router
wait $router || true
