#!/bin/bash
# The story on interfaces: a router in a namespace, two guests, a printer, and an uplink with DNS and web servers. Needs root.
# usage: live.sh [wireline | openvswitch]: the switch between the devices.
set -euo pipefail
switch=${1:-wireline}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || { echo "making namespaces needs root" >&2; exit 77; }
programs=(wire-home ip nft udhcpc dnsmasq python3 curl dig)
[ "$switch" = wireline ] || programs+=(ovs-vswitchd ovsdb-server ovs-vsctl ethtool)
for program in "${programs[@]}"; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
work=$(mktemp -d)
name=wh$$
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
    on $each ip link set lo up
done
join() { # NAMESPACE MAC INTERFACE: connects eth0 of the namespace to the router's interface
    ip link add $3 netns $name-router type veth peer name eth0 netns $name-$1
    on $1 ip link set eth0 address $2
    # Open vSwitch in its own process forwards frames whose checksums the sender leaves to a card as they are.
    [ "$switch" = wireline ] || on $1 ethtool -K eth0 tx off >/dev/null
    on router ip link set $3 up
}
join isp 02:00:00:00:09:01 wan
on isp ip link set eth0 up
join printer 02:00:00:00:01:01 lan1
join anna 02:00:00:00:01:02 lan2
join ben 02:00:00:00:01:03 lan3

# The Internet: a resolver, a web server, and an address for advertisements.
on isp ip address add 198.51.100.1/24 dev eth0
on isp ip address add 203.0.113.80/32 dev lo
on isp ip address add 203.0.113.66/32 dev lo
ip netns exec $name-isp dnsmasq --keep-in-foreground --no-resolv --no-hosts --port=53 --listen-address=198.51.100.1 --bind-interfaces \
    --pid-file="$work/dnsmasq" --address=/www.example/203.0.113.80 --address=/ads.example/203.0.113.66 >"$work/dnsmasq.log" 2>&1 &
pids+=($!)
mkdir "$work/www"
echo "a page" >"$work/www/index.html"
(cd "$work/www"; exec ip netns exec $name-isp python3 -m http.server 80 >/dev/null 2>&1) &
pids+=($!)
(cd "$work/www"; exec ip netns exec $name-printer python3 -m http.server 80 >/dev/null 2>&1) &
pids+=($!)

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
        --dns 198.51.100.1 --switch "$switch" --calls 127.0.0.1:8800 --state "$work/home.db" >"$work/counters" 2>"$work/log" &
    router=$!
    pids+=($router)
    for _ in $(seq 100); do grep -qE "setup=|the board is at" "$work/log" && break; sleep 0.1; done
}
start
awk '/^Uid:/ { user = $3 ? "an unprivileged user" : "root" } /^Seccomp:/ { calls = $2 ? "a list of system calls" : "all system calls" }
    END { print "the router runs as " user " with " calls }' "/proc/$router/status"
# The API, from the router itself.
set_password "$work/log" https://127.0.0.1:8443/ws.v1

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
    # From here on the router sees the device: its kernel asks for routers over IPv6. The order decides on the addresses.
    on $1 ip link set eth0 up
    ip netns exec $name-$1 env WORK="$work" NAME=$1 udhcpc -f -i eth0 -x hostname:$1 -s "$work/lease" -t 10 -T 1 >"$work/udhcpc.$1" 2>&1 &
    pids+=($!)
    for _ in $(seq 100); do [ -s "$work/resolv.$1" ] && break; sleep 0.1; done
    on $1 ip -4 -o address show dev eth0 | awk -v name=$1 '{ print name, "has", $4 }'
}
page() { # NAMESPACE URL
    local text
    text=$(on $1 curl -s --max-time 3 "$2") && echo "$1 reads $text at $2" || echo "$1 cannot read $2"
}
board() { # NAMESPACE
    local code
    code=$(on $1 curl -sk --max-time 3 -o /dev/null -w '%{http_code}' https://10.2.255.254:8443/) || true
    [ "$code" = 200 ] && echo "$1 sees the board" || echo "$1 does not see the board"
}
name_of() { # NAMESPACE NAME: a query to an outside server
    { on $1 dig +time=2 +tries=1 +noall +comments +answer @192.0.2.1 $2 || true; } |
        awk -v name=$1 -v asked=$2 '/status:/ { sub(",", "", $6); status = $6 } $4 == "A" { answer = $5 } END { print name, "asks for", asked ":", status ? status : "no answer", answer }'
}

ask -X POST $api/permit/02:00:00:00:01:01 >/dev/null
lease printer
lease anna
lease ben
echo "-- no decision yet"
devices
page anna http://203.0.113.80/
page anna http://10.2.0.6/
echo "-- anna is permitted"
ask -X POST $api/permit/02:00:00:00:01:02 >/dev/null
page anna http://203.0.113.80/
page anna http://10.2.0.6/
name_of anna www.example
name_of anna ads.example
page anna http://203.0.113.66/
page ben http://203.0.113.80/
board anna
board ben
echo "-- ads.example is denied to her"
ask -X POST $api/deny-dns/02:00:00:00:01:02/ads.example >/dev/null
name_of anna www.example
name_of anna ads.example
page anna http://203.0.113.66/
page anna http://203.0.113.80/
echo "-- what she reached"
sql="SELECT DISTINCT destination, destination_port FROM Flows WHERE device = '02:00:00:00:01:02' AND direction = 'out' AND destination_port = 80 ORDER BY 1"
# The router asks its switch for counters once a second.
for _ in $(seq 50); do
    rows=$(ask $api/stream/query -d "{\"sql\": \"$sql\"}" | python3 -c 'import json, sys; [print(*row) for row in json.load(sys.stdin)["rows"]]')
    [ "$(wc -l <<<"$rows")" = 2 ] && break
    sleep 0.1
done
echo "$rows"
calls=$(on router wire-home --calls 127.0.0.1:8800 --ask "$sql" | tail -n +2 | tr '\t' ' ')
[ "$calls" = "$rows" ] && echo "the same by a call over UDP" || echo "by a call over UDP: $calls"
echo "-- anna is evicted"
ask -X POST $api/deny/02:00:00:00:01:02 >/dev/null
page anna http://203.0.113.80/
page anna http://10.2.0.6/
devices
echo "-- the router starts again"
kill -9 $router
wait $router 2>/dev/null || true
start
page printer http://203.0.113.80/
page anna http://203.0.113.80/
kill $router
wait $router || true
