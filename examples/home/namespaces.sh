# Sourced by live.sh, six.sh, eapol.sh and wifi.sh: a home in namespaces with the devices anna, ben and printer, and the provider isp. Needs root. Takes the
# switch from the first argument, and the names of further required programs from `programs`. Sets `switch`, `work`, `name` and `pids`.
switch=${1:-wireline}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || { echo "making namespaces needs root" >&2; exit 77; }
programs+=(wire-home ip nft dnsmasq python3 curl dig)
[ "$switch" = wireline ] || programs+=(ovs-vswitchd ovsdb-server ovs-vsctl ethtool)
for program in "${programs[@]}"; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
lan="lan1 lan2 lan3"
work=$(mktemp -d)
name=wh$$
declare -a pids=()
. "$(dirname "$0")/api.sh"
curl_in="ip netns exec $name-router"
clean() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    for each in router isp anna ben printer ${others:-}; do ip netns del $name-$each 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean EXIT
on() { local where=$1; shift; ip netns exec $name-$where "$@"; }

for each in router isp anna ben printer; do
    ip netns add $name-$each
    on $each sh -c 'for at in all default lo; do echo 0 >/proc/sys/net/ipv6/conf/$at/disable_ipv6; done'
    on $each ip link set lo up
done
join() { # NAMESPACE MAC INTERFACE [MAC]: connects eth0 of the namespace, which is down, to the router's interface
    ip link add $3 ${4:+address $4} netns $name-router type veth peer name eth0 netns $name-$1
    on $1 ip link set eth0 address $2
    # Open vSwitch in its own process forwards frames whose checksums the sender leaves to a card as they are.
    [ "$switch" = wireline ] || on $1 ethtool -K eth0 tx off >/dev/null
    on router ip link set $3 up
}
join isp 02:00:00:00:09:01 wan 02:00:00:00:09:02
on isp ip link set eth0 up
on isp ip address add 198.51.100.1/24 dev eth0
join printer 02:00:00:00:01:01 lan1
join anna 02:00:00:00:01:02 lan2
join ben 02:00:00:00:01:03 lan3

# Web servers of the Internet and of the printer, for IPv4 and IPv6.
mkdir "$work/www"
echo "a page" >"$work/www/index.html"
for each in isp printer; do
    (cd "$work/www"; exec ip netns exec $name-$each python3 -m http.server --bind :: 80 >/dev/null 2>&1) &
    pids+=($!)
done

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

start() { # [ARGUMENTS]: starts the router, and waits until its board is there
    ip netns exec $name-router wire-home --lan $lan --wan wan --wan-address 198.51.100.2/24 --gateway 198.51.100.1 \
        --dns 198.51.100.1 --switch "$switch" --calls 127.0.0.1:8800 --state "$work/home.db" "$@" >"$work/counters" 2>"$work/log" &
    router=$!
    pids+=($router)
    for _ in $(seq 300); do grep -qE "setup=|the board is at" "$work/log" && return; sleep 0.1; done
    cat "$work/log" >&2
    return 1
}
page() { # NAMESPACE URL
    local text
    text=$(on $1 curl -s --max-time ${seconds:-3} "$2") && echo "$1 reads $text at $2" || echo "$1 cannot read $2"
}
cat >"$work/lease" <<'S'
#!/bin/sh
case $1 in
deconfig) ip address flush dev $interface ;;
bound | renew)
    ip address replace $ip/$mask dev $interface
    ip route replace default via $router
    echo "nameserver $dns" >$WORK/resolv.$NAME
    ;;
esac
S
chmod +x "$work/lease"
lease() { # NAMESPACE: gets a lease, and renews it in the background
    # The kernel sends a router solicitation now. The order in which devices appear determines their addresses.
    on $1 ip link set eth0 up
    ip netns exec $name-$1 env WORK="$work" NAME=$1 udhcpc -f -i eth0 -x hostname:$1 -s "$work/lease" -t 10 -T 1 >"$work/udhcpc.$1" 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do [ -s "$work/resolv.$1" ] && break; sleep 0.1; done
    on $1 ip -4 -o address show dev eth0 | awk -v name=$1 '{ print name, "has", $4 }'
}
