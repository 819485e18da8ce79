#!/bin/bash
# Wi-Fi: a guest associates with an access point of hostapd, waits, is permitted, and is blacklisted. Needs root and two simulated radios of
# the kernel (mac80211_hwsim); where this kernel has none, the guest kernel has: .ci/guest examples/home/wifi.sh
set -euo pipefail
programs=(udhcpc hostapd wpa_supplicant iw)
others=carol
seconds=60 # An emulated machine is slow.
. "$(dirname "$0")/namespaces.sh"
modprobe mac80211_hwsim radios=2 2>/dev/null || { echo "this kernel has no mac80211_hwsim; try .ci/guest $0" >&2; exit 77; }

on isp ip address add 203.0.113.80/32 dev lo
radios=($(iw dev | awk '/^phy#/ { sub("#", "", $1); phy = $1 } $1 == "Interface" { print phy ":" $2 }' | sort))
ip netns add $name-carol
on carol ip link set lo up
iw phy ${radios[0]%:*} set netns name $name-router
iw phy ${radios[1]%:*} set netns name $name-carol
on router ip link set ${radios[0]#*:} name wlan0
on carol ip link set ${radios[1]#*:} name eth0
on carol ip link set eth0 address 02:00:00:00:01:04
lan="lan1 wlan0"

echo "interface=wlan0
driver=nl80211
ctrl_interface=$work/hostapd
ssid=home
hw_mode=g
channel=1
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=correct horse
ap_isolate=1" >"$work/hostapd.conf"
ip netns exec $name-router hostapd -t "$work/hostapd.conf" >"$work/hostapd.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do grep -q AP-ENABLED "$work/hostapd.log" && break; sleep 0.1; done
start --hostapd "$work/hostapd/wlan0" --authenticated-only
set_password "$work/log" https://127.0.0.1:8443/ws.v1

echo 'network={
    ssid="home"
    psk="correct horse"
}' >"$work/supplicant"
ip netns exec $name-carol wpa_supplicant -i eth0 -t -c "$work/supplicant" >"$work/supplicant.log" 2>&1 &
pids+=($!)
logged() { # TEXT COUNT: waits until carol's log has a text this number of times
    for _ in $(seq 200); do [ "$(grep -c "$1" "$work/supplicant.log")" -ge "$2" ] && return; sleep 0.1; done
    return 1
}
link() { # COUNT
    logged CTRL-EVENT-CONNECTED "$1" && echo "carol is associated" || echo "carol cannot associate"
}
link 1
lease carol
echo "-- no decision yet"
devices
page carol http://203.0.113.80/
echo "-- carol is permitted"
ask -X POST $api/permit/02:00:00:00:01:04 >/dev/null
page carol http://203.0.113.80/
for _ in $(seq 30); do
    signal=$(ask $api/status/02:00:00:00:01:04 | sed -n 's/.*"signal": *\(-[0-9]*\).*/\1/p')
    [ -n "$signal" ] && break
    sleep 0.2
done
echo "her signal has ${signal:-no} dBm"
echo "-- carol is blacklisted"
ask -X POST $api/blacklist/02:00:00:00:01:04 >/dev/null
logged CTRL-EVENT-DISCONNECTED 1 && echo "carol is disconnected"
page carol http://203.0.113.80/
link 2
echo "-- carol is whitelisted"
ask -X POST $api/whitelist/02:00:00:00:01:04 >/dev/null
link 2
page carol http://203.0.113.80/
kill $router
wait $router || true
