#!/bin/bash
# IEEE 802.1X on interfaces: hostapd authenticates devices with wpa_supplicant before they reach anything. Needs root.
# usage: eapol.sh [wireline | openvswitch]: the switch between the devices.
set -euo pipefail
programs=(udhcpc hostapd wpa_supplicant ping)
. "$(dirname "$0")/namespaces.sh"

on isp ip address add 203.0.113.80/32 dev lo
# hostapd and its users: EAP-MD5 is enough for a wire of the example; PEAP and TLS are set in the same file.
echo '"anna" MD5 "annas password"
"ben" MD5 "bens password"' >"$work/users"
echo "interface=home-eap
driver=wired
ctrl_interface=$work/hostapd
ieee8021x=1
eap_server=1
eap_user_file=$work/users
eap_reauth_period=0" >"$work/hostapd.conf"
authenticator() {
    ip netns exec $name-router hostapd -t "$work/hostapd.conf" >>"$work/hostapd.log" 2>&1 &
    hostapd=$!
    pids+=($hostapd)
    until_logged "connected to hostapd" "$1" "$work/log"
}
until_logged() { # TEXT COUNT FILE: waits until the text is there this number of times
    for _ in $(seq 100); do [ "$(grep -c "$1" "$3")" -ge "$2" ] && return; sleep 0.1; done
    echo "no '$1' in $3" >&2
}
supplicant() { # NAMESPACE IDENTITY PASSWORD
    echo "ap_scan=0
network={
    key_mgmt=IEEE8021X
    eap=MD5
    identity=\"$2\"
    password=\"$3\"
    eapol_flags=0
}" >"$work/supplicant.$1"
    ip netns exec $name-$1 wpa_supplicant -D wired -i eth0 -t -c "$work/supplicant.$1" >"$work/supplicant.$1.log" 2>&1 &
    supplicant=$!
    pids+=($supplicant)
}
signed_in() { # Devices and the identities with which they are authenticated.
    ask $api/devices | python3 -c '
import json, sys
for device in json.load(sys.stdin)["devices"]:
    print(device["mac"], device["admission"], "not authenticated" if device["unauthenticated"] else f"authenticated as {device['"'identity'"']}")'
}
until_state() { # NAMESPACE TEXT: waits until a device is in this state
    local mac
    mac=$(on $1 cat /sys/class/net/eth0/address)
    for _ in $(seq 150); do signed_in | grep -q "$mac .*$2" && return; sleep 0.1; done
}

start --hostapd "$work/hostapd/home-eap" --authenticated-only
authenticator 1
set_password "$work/log" https://127.0.0.1:8443/ws.v1
for each in printer anna ben; do
    ask -X POST $api/permit/"$(on $each cat /sys/class/net/eth0/address)" >/dev/null
    lease $each
done
echo "-- people permitted all three, and none is authenticated"
signed_in
page anna http://203.0.113.80/
page printer http://203.0.113.80/
echo "-- anna signs in, ben has a wrong password"
supplicant anna anna "annas password"
annas=$supplicant
supplicant ben ben "wrong"
until_state anna "as anna"
until_logged "EAP-FAILURE" 1 "$work/supplicant.ben.log"
signed_in
page anna http://203.0.113.80/
page ben http://203.0.113.80/
page printer http://203.0.113.80/
echo "-- anna's cable is pulled"
on router ip link set lan2 down
until_state anna "not authenticated"
signed_in | grep 01:02
echo "-- it is plugged in again"
on router ip link set lan2 up
# Any packet of hers has hostapd ask her.
on anna ping -c 60 203.0.113.80 >/dev/null &
pings=$!
until_state anna "as anna"
kill $pings
page anna http://203.0.113.80/
echo "-- ben takes anna's MAC address"
on ben ip link set eth0 down
on ben ip link set eth0 address 02:00:00:00:01:02
on ben ip link set eth0 up
on ben ip address replace 10.2.0.10/30 dev eth0
on ben ip route replace default via 10.2.0.9
page ben http://203.0.113.80/
page anna http://203.0.113.80/
echo "-- hostapd crashes"
kill -9 $hostapd
wait $hostapd 2>/dev/null || true
page anna http://203.0.113.80/
echo "-- it starts again"
authenticator 2
sleep 2 # It asks anna again.
until_state anna "as anna"
page anna http://203.0.113.80/
echo "-- anna is blacklisted"
ask -X POST $api/blacklist/02:00:00:00:01:02 >/dev/null
until_state anna "not authenticated"
signed_in | grep 01:02
page anna http://203.0.113.80/
kill $annas
supplicant anna anna "annas password"
until_logged "CTRL-EVENT-EAP-STARTED\|EAPOL timeout\|Associated" 1 "$work/supplicant.anna.log"
sleep 1
grep -q EAP-SUCCESS "$work/supplicant.anna.log" && echo "anna signs in" || echo "anna gets no answer from hostapd"
kill $router
wait $router || true
