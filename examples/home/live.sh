#!/bin/bash
# The story on interfaces: a router in a namespace, two guests, a printer, and an uplink with DNS and web servers. Needs root.
# usage: live.sh [wireline | openvswitch]: the switch between the devices.
set -euo pipefail
programs=(udhcpc)
. "$(dirname "$0")/namespaces.sh"

# The Internet: a resolver, an address of the web server, and one for advertisements.
on isp ip address add 203.0.113.80/32 dev lo
on isp ip address add 203.0.113.66/32 dev lo
ip netns exec $name-isp dnsmasq --keep-in-foreground --no-resolv --no-hosts --port=53 --listen-address=198.51.100.1 --bind-interfaces \
    --pid-file="$work/dnsmasq" --address=/www.example/203.0.113.80 --address=/ads.example/203.0.113.66 >"$work/dnsmasq.log" 2>&1 &
pids+=($!)
start
awk '/^Uid:/ { user = $3 ? "an unprivileged user" : "root" } /^Seccomp:/ { calls = $2 ? "a list of system calls" : "all system calls" }
    END { print "the router runs as " user " with " calls }' "/proc/$router/status"
# The API, from the router itself.
set_password "$work/log" https://127.0.0.1:8443/ws.v1

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
