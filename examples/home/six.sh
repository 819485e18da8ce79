#!/bin/bash
# IPv6 on interfaces: a provider that delegates a prefix, and devices with the kernel's own addresses, dhclient and dhcpcd. Needs root.
# usage: six.sh [wireline | openvswitch]: the switch between the devices.
set -euo pipefail
programs=(dhcpd dhclient dhcpcd ping)
. "$(dirname "$0")/namespaces.sh"

# The provider: router advertisements and names by dnsmasq, an address and a prefix by dhcpd.
on isp sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
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
provider 2001:db8:100::

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
