#!/bin/sh
# Prints for each pair of kinds of NAT whether two hosts behind them reach each other by hole punching, in simulated time and, as root,
# with Linux's NAT.
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
# The keys of a kind of NAT, for the node $1.
keys() {
    at="--set node.$1.nat"
    case $2 in
        full-cone) echo "$at.filtering=endpoint-independent" ;;
        restricted) echo "$at.filtering=address-dependent" ;;
        port-restricted) echo "$at.filtering=address-and-port-dependent" ;;
        symmetric) echo "$at.mapping=address-and-port-dependent $at.filtering=address-and-port-dependent" ;;
        linux) echo "$at.kind=linux" ;;
        linux-firewall) echo "$at.kind=linux $at.unsolicited=drop" ;;
        linux-random) echo "$at.kind=linux $at.ports=random $at.reuse=false" ;;
    esac
}
# Both hosts have heard each other.
verdict() { [ "$(grep -c '"program":"punch".*"done":true')" = 2 ] && printf ' %15s' yes || printf ' %15s' -; }
matrix() {
    printf '%-15s' "$1"
    shift
    printf ' %15s' "$@"
    echo
}
wire lab lab.toml
echo
all="full-cone restricted port-restricted symmetric linux linux-firewall linux-random"
matrix simulated $all
for a in $all; do
    printf '%-15s' $a
    for b in $all; do
        wire lab lab.toml $(keys na $a) $(keys nb $b) --json | verdict
    done
    echo
done
wire lab kernel.toml --check >/dev/null
[ "$(id -u)" = 0 ] || { echo "the kernel's NAT needs root, for network namespaces" >&2; exit 77; }
command -v nft >/dev/null || { echo "nft is not installed" >&2; exit 77; }
echo
all="linux linux-random linux-firewall"
mkdir -p out
for a in $all; do
    for b in $all; do
        wire lab kernel.toml --world live --set "node.na.run=nft -f $a.nft; sleep 4" --set "node.nb.run=nft -f $b.nft; sleep 4" --json >out/$a-$b.json &
    done
    wait
done
matrix "Linux's NAT" $all
for a in $all; do
    printf '%-15s' $a
    for b in $all; do
        verdict <out/$a-$b.json
    done
    echo
done
