# Namespaces a - r1 - r2 - b with real kernels and veth pairs between them, for the scripts beside this: source it. They are this process's own, and
# gone with it however it ends.
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
[ -n "$WIRE_APART" ] || unshare --mount true || { echo "needs \`unshare --mount\`, which fails where / is no mount point, as in a chroot" >&2; exit 77; }
[ -n "$WIRE_APART" ] || WIRE_APART=1 exec unshare --mount --net --pid --fork --kill-child --mount-proc sh "$0" "$@"

# within NAMESPACE COMMAND...
within() { ip netns exec "$@"; }

network() {
    # Other work on the machine disturbs less.
    renice -n -19 $$ >/dev/null || :
    mkdir -p /run/netns
    mount -t tmpfs tmpfs /run/netns
    for name in a r1 r2 b; do
        ip netns add $name
        within $name ip link set lo up
        within $name sh -c 'echo 0 | tee /proc/sys/net/ipv4/conf/*/rp_filter; echo 1 >/proc/sys/net/ipv4/ip_forward
            echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6' >/dev/null 2>&1 || :
    done
    pair a eth0 r1 eth0
    pair r1 eth1 r2 eth0
    pair r2 eth1 b eth0
    address a eth0 10.0.1.1 r1 eth0 10.0.1.2
    address r1 eth1 10.0.2.1 r2 eth0 10.0.2.2
    address r2 eth1 10.0.3.2 b eth0 10.0.3.1
    within a ip route add default via 10.0.1.2
    within r1 ip route add 10.0.3.0/24 via 10.0.2.2
    within r2 ip route add 10.0.1.0/24 via 10.0.2.1
    within b ip route add default via 10.0.3.2
    ip netns exec b iperf3 -s >/dev/null 2>&1 &
    within a ping -c 1 -W 5 10.0.3.1 >/dev/null
}
pair() {
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
}
address() {
    within "$1" ip addr add "$3/24" dev "$2"
    within "$4" ip addr add "$6/24" dev "$5"
    within "$1" ip link set "$2" up
    within "$4" ip link set "$5" up
}

# The link between r1 and r2: 100 Mb/s of Ethernet both ways with room for 1,000 packets, by tbf or htb. Of a packet of 1,514 bytes they count
# the 24 more that it takes there: FCS, preamble, and the gap behind it.
shape() {
    for end in "r1 eth1" "r2 eth0"; do
        case $1 in
        tbf) within ${end% *} tc qdisc add dev ${end#* } root handle 1: tbf rate 100mbit burst 32kb limit 1538000 overhead 24 ;;
        htb)
            within ${end% *} tc qdisc add dev ${end#* } root handle 1: htb default 1
            within ${end% *} tc class add dev ${end#* } parent 1: classid 1:1 htb rate 100mbit burst 32kb cburst 32kb quantum 1538 overhead 24
            within ${end% *} tc qdisc add dev ${end#* } parent 1:1 handle 10: pfifo limit 1000
            ;;
        esac
    done
}

# relay NAMESPACE NODE OPTIONS...: starts one, and waits until it takes packets. What it says is in $work/NAMESPACE.
relay() {
    name=$1
    shift
    rm -f "$work/$name"
    ip netns exec "$name" wire relay run "$@" >"$work/$name" 2>&1 &
    relays="$relays $!"
    until grep -q '^wire: ' "$work/$name" 2>/dev/null; do
        kill -0 $! 2>/dev/null || { cat "$work/$name" >&2; exit 1; }
        sleep 0.05
    done
}
# Ends them, and waits for what they report.
relays_end() {
    for relay in $relays; do kill -TERM "$relay" 2>/dev/null || :; done
    for relay in $relays; do wait "$relay" || :; done
    relays=
}
