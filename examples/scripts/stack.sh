#!/bin/bash
# An interface of the kernel's stack as a file of the mount: pings between two namespaces, each of which has a port and a stack interface joined by two `cat`.
# usage: stack.sh (as root)
set -euo pipefail
work=$(mktemp -d)
names=("wire-stack-$$-a" "wire-stack-$$-b")
jobs=()
trap 'kill "${jobs[@]}" 2>/dev/null || true; wait 2>/dev/null || true; ip netns del "${names[0]}" 2>/dev/null || true; ip netns del "${names[1]}" 2>/dev/null || true; rm -rf "$work"' EXIT
ip netns add "${names[0]}"
ip netns add "${names[1]}"
ip link add wire netns "${names[0]}" type veth peer name wire netns "${names[1]}"
for end in 0 1; do
    # Not `ip netns exec`: the mount would be in a mount namespace of its own.
    inside=(nsenter "--net=/run/netns/${names[end]}")
    "${inside[@]}" ip link set wire up
    # The namespace's own IPv6 stack must not send on either interface.
    "${inside[@]}" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    "${inside[@]}" wire mount "$work/$end" --on wire tap:pipe0 2>"$work/log$end" & jobs+=($!)
done
for end in 0 1; do
    for _ in $(seq 200); do [ -e "$work/$end/stack/pipe0" ] && break; sleep 0.05; done
    port=$work/$end/0 stack=$work/$end/stack/pipe0
    (exec cat "$port" >"$stack") & jobs+=($!)
    (exec cat "$stack" >"$port") & jobs+=($!)
    ip -n "${names[end]}" addr add "10.9.0.$((end + 1))/24" dev pipe0
    ip -n "${names[end]}" link set pipe0 up
done
sleep 0.5
ls "$work/0/stack"
ip netns exec "${names[0]}" ping -q -c 5 -i 0.2 10.9.0.2
