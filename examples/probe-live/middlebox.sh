#!/bin/sh
# What a middlebox costs TCP of this kernel: iperf3 and ping between two namespaces through two more, which are joined by bridges, by middleboxes that only forward, and by
# middleboxes that make probe trains of the connection's packets. The link in the middle is a token bucket.
#
#   a (client) --- m (bridge | forward | modulate) --- token bucket --- n (bridge | forward | extract) --- b (server)
#
# The table goes to standard error and out/middlebox.txt. usage: middlebox.sh [MBIT]
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
for program in ip tc iperf3 ping; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
rate=${1:-100} seconds=${SECONDS_EACH:-5}
a=middle-a-$$ m=middle-m-$$ n=middle-n-$$ b=middle-b-$$
finish() {
    for space in $a $m $n $b; do
        for process in $(ip netns pids $space 2>/dev/null); do kill "$process" 2>/dev/null || true; done
        ip netns del $space 2>/dev/null || true
    done
}
trap finish EXIT
trap 'exit 1' INT TERM
for space in $a $m $n $b; do ip netns add $space || { echo "no network namespaces here" >&2; exit 77; }; done
join() { # NAMESPACE PORT NAMESPACE PORT
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
    for end in "$1 $2" "$3 $4"; do
        # A middlebox counts packets: none of 64 KB.
        ip -n "${end% *}" link set dev "${end#* }" gso_max_segs 1
        ip -n "${end% *}" link set dev "${end#* }" up
    done
}
join $a va $m ma
join $m mn $n nm
join $n nb $b vb
ip -n $a addr add 10.90.0.1/24 dev va
ip -n $b addr add 10.90.0.2/24 dev vb
tc -n $m qdisc replace dev mn root tbf rate "${rate}mbit" burst 1600 latency 50ms
ip netns exec $b iperf3 -s >/dev/null 2>&1 &
until ip netns exec $b ss -Hltn 'sport = :5201' 2>/dev/null | grep -q .; do sleep 0.1; done
mkdir -p out
row() {
    until ip netns exec $a ping -c 1 -W 1 10.90.0.2 >/dev/null 2>&1; do sleep 0.1; done
    rtt=$(ip netns exec $a ping -q -c 200 -i 0.005 10.90.0.2 | awk -F/ '/^rtt/ { print $5 }')
    tcp=$(ip netns exec $a iperf3 -c 10.90.0.2 -t "$seconds" -J | awk '/"sum_received"/ { s = 1 } s && /bits_per_second/ { gsub(/[^0-9.e+]/, "", $2); print $2; exit }')
    awk -v n="$1" -v t="$tcp" -v r="$rtt" 'BEGIN { printf "%-22s %9.1f Mb/s %9.0f us\n", n, t / 1e6, 1e3 * r }' | tee -a out/middlebox.txt >&2
    echo "measured: $1"
}
# Middleboxes at both ends, until the row is over: with so many words more for the near one, and the far one's mode.
boxes() {
    far=$1
    shift
    ip netns exec $m wire middlebox run --on ma mn --rate "$((rate * 3 / 2))Mb/s" --latency 300us --flow "$flow" --json "$@" >out/near.json 2>out/near.txt &
    near=$!
    ip netns exec $n wire middlebox run --on nb nm --rate "$((rate * 3 / 2))Mb/s" --latency 300us --flow "$flow" --json --mode "$far" >out/far.json 2>out/far.txt &
    other=$!
}
over() {
    kill -INT $near $other
    wait $near $other 2>/dev/null || true
}
printf '%-22s %14s %12s\n' "by" "TCP" "round trip" | tee out/middlebox.txt >&2
for space in $m $n; do
    ip -n $space link add br0 type bridge
    ip -n $space link set dev br0 up
done
for end in "$m ma" "$m mn" "$n nm" "$n nb"; do ip -n "${end% *}" link set dev "${end#* }" master br0; done
row "bridges"
for space in $m $n; do ip -n $space link del dev br0; done
flow="10.90.0.1 10.90.0.2 tcp"
boxes forward --mode forward
row "middleboxes, forward"
over
# Up to a quarter more than the link carries: below that nothing would turn.
trains="20, $((rate / 10)):$((rate / 20)):$((rate * 5 / 4)) Mb/s, 100 us, 200 ms"
boxes extract --method minprobe --timeout 10ms --trains "$trains"
row "middleboxes, modulate"
over
grep -o '"\(probes\|dummies\|trains\|added_mean_ns\|added_most_ns\|answers\|no_answers\)":[0-9]*' out/near.json | tail -n 7 | tr '\n' ' ' | tee -a out/middlebox.txt >&2
echo >&2
# What the trains find beside UDP that crosses, which is no flow of theirs. Rates are those of the wire: a bucket counts frames, which have 24 bytes more there, and iperf3's datagrams of 1222 bytes have 1264.
boxes extract --method minprobe --timeout 10ms --trains "$trains"
until ip netns exec $a ping -c 1 -W 1 10.90.0.2 >/dev/null 2>&1; do sleep 0.1; done
cross=$((rate * 3 / 10))
ip netns exec $b iperf3 -s -p 5202 >/dev/null 2>&1 &
until ip netns exec $b ss -Hltn 'sport = :5202' 2>/dev/null | grep -q .; do sleep 0.1; done
ip netns exec $a iperf3 -u -c 10.90.0.2 -p 5202 -b "${cross}M" -l 1222 --pacing-timer 100 -t $((3 * seconds)) >/dev/null 2>&1 &
ip netns exec $a iperf3 -c 10.90.0.2 -t $((2 * seconds)) >/dev/null
over
awk -v r="$rate" -v c="$cross" '
    function value(key) { return match($0, "\"" key "\":\"?[^,}\"]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
    /"type":"estimate"/ {
        all++; found = value("available_bps") / 1e6
        if (found > 0) { sum += found; count++ } else if (match($0, "\"how\":\"[^\"]*")) why = "; last: " substr($0, RSTART + 7, RLENGTH - 7)
    }
    END {
        free = (r - c * 1264 / 1222) * 1538 / 1514
        printf "beside %d Mb/s: %d of %d samples have an answer, %s Mb/s, true %.1f%s\n", c, count, all, count ? sprintf("%.1f", sum / count) : "-", free, why
    }' out/near.json | tee -a out/middlebox.txt >&2
echo "measured: estimates"
