#!/bin/bash
# Clients of Linux distributions: systemd-networkd for addresses, avahi for services. Needs root.
# usage: clients.sh [wireline | openvswitch]: the switch between the devices.
set -euo pipefail
programs=(/lib/systemd/systemd-networkd udhcpc avahi-daemon avahi-browse dbus-daemon)
. "$(dirname "$0")/namespaces.sh"

# The provider delegates nothing: the home has a local IPv6 network.
on isp ip address add 203.0.113.80/32 dev lo
start --local fd12:3456:789a::/48
set_password "$work/log" https://127.0.0.1:8443/ws.v1

# The printer announces itself, as CUPS does.
lease printer
mkdir -p "$work/services"
echo '<?xml version="1.0"?><!DOCTYPE service-group SYSTEM "avahi-service.dtd">
<service-group><name>Printer of the home</name><service><type>_ipp._tcp</type><port>631</port></service></service-group>' >"$work/services/printer.service"
allow=$(printf '<allow %s="%s"/>' user '*' own '*' send_type method_call send_type signal send_type method_return send_type error \
    receive_type method_call receive_type signal receive_type method_return receive_type error)
avahi() { # NAMESPACE SERVICES: an avahi-daemon with a message bus of its own
    local bus=$work/bus.$1
    echo "<busconfig><type>system</type><listen>unix:path=$bus</listen><auth>EXTERNAL</auth><policy context=\"default\">$allow</policy></busconfig>" >"$bus.conf"
    ip netns exec $name-$1 dbus-daemon --nofork --nopidfile --config-file="$bus.conf" >"$work/dbus.$1" 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do [ -S "$bus" ] && break; sleep 0.1; done
    printf '[server]\nhost-name=%s\nallow-interfaces=eth0\nuse-ipv6=no\n[publish]\npublish-workstation=no\n' $1 >"$work/avahi.$1"
    ip netns exec $name-$1 env DBUS_SYSTEM_BUS_ADDRESS=unix:path="$bus" unshare -m sh -c "mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon &&
        mount --bind $2 /etc/avahi/services && exec avahi-daemon --no-drop-root --no-chroot --no-rlimits --no-proc-title -f $work/avahi.$1" >"$work/avahi.$1.log" 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do grep -q "startup complete" "$work/avahi.$1.log" && break; sleep 0.1; done
}
find_printer() { # NAMESPACE TIMES: looks for printers until there is one, at most this number of times
    local found
    for _ in $(seq $2); do
        found=$(on $1 env DBUS_SYSTEM_BUS_ADDRESS=unix:path="$work/bus.$1" timeout 20 avahi-browse -rptk _ipp._tcp 2>/dev/null |
            awk -F ';' -v name=$1 '$1 == "=" && $3 == "IPv4" { gsub(/\\032/, " ", $4); print name, "finds", $4, "at", $8 ":" $9 }')
        [ -n "$found" ] && break
    done
    echo "${found:-$1 finds no printer}"
}
networkd() { # NAMESPACE: systemd-networkd, which asks for all that a router may give
    mkdir -p "$work/network.$1"
    printf '[Match]\nName=eth0\n[Network]\nDHCP=yes\nIPv6AcceptRA=yes\n[DHCPv4]\nSendHostname=yes\nHostname=%s\nClientIdentifier=mac\n[IPv6AcceptRA]\nDHCPv6Client=always\n' $1 >"$work/network.$1/10-home.network"
    # It takes interfaces without udev only if /sys is read-only.
    ip netns exec $name-$1 unshare -m sh -c "mount -t tmpfs none /run && mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp &&
        cp $work/network.$1/* /run/systemd/network && mount -o remount,bind,ro /sys && exec env SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console /lib/systemd/systemd-networkd" >"$work/networkd.$1" 2>&1 &
    pids+=($!)
}
addresses() { # NAMESPACE PREFIX...: waits for an address of each prefix, and prints them
    local each text
    for each in "${@:2}"; do
        for _ in $(seq 200); do
            text=$(on $1 ip -o address show dev eth0 scope global -tentative | awk -v prefix=$each 'index($4, prefix) == 1 && !found { print $4; found = 1 }')
            [ -n "$text" ] && break
            sleep 0.1
        done
        echo "$1 has ${text:-no address of $each}"
    done
}
echo "-- anna's systemd-networkd has no decision yet"
networkd anna
addresses anna 10.2.0.10
page anna http://203.0.113.80/
devices
echo "-- printer and anna are permitted"
ask -X POST $api/permit/02:00:00:00:01:01 >/dev/null
ask -X POST $api/permit/02:00:00:00:01:02 >/dev/null
addresses anna fd12:3456:789a:4:0: fd12:3456:789a:4::2
page anna http://203.0.113.80/
echo "-- anna looks for printers"
avahi printer "$work/services"
mkdir "$work/none"
avahi anna "$work/none"
find_printer anna 10
echo "-- so does ben, who waits"
lease ben
avahi ben "$work/none"
find_printer ben 2
kill $router
wait $router || true
