#!/bin/sh
# What the routes of router.toml are for Linux.
set -e
ip link set eth2 mtu 1300
ip route add 10.4.0.0/16 via 10.0.0.3
ip route add unreachable 10.6.0.0/16
ip route add blackhole 10.7.0.0/16
ip route add prohibit 10.5.0.0/16
ip -6 route add unreachable fd06::/16
sleep 7
