#!/bin/sh
# What `wire probe` says of a token bucket beside what iperf3 says, and udpst if it is there. Figures differ from run to run, so that
# they go to standard error and out/table.txt, and only what was measured is shown. usage: run.sh [all]: at 1 Gb/s, too.
set -e
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
for program in ip tc iperf3 chrt; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 77; }
done
a=probe-a-$$ b=probe-b-$$ place=$(mktemp -d)
finish() {
    for space in $a $b; do
        for process in $(ip netns pids $space 2>/dev/null); do kill "$process" 2>/dev/null || true; done
        ip netns del $space 2>/dev/null || true
    done
    rm -rf "$place"
}
trap finish EXIT
trap 'exit 1' INT TERM
ip netns add $a && ip netns add $b || { echo "no network namespaces here" >&2; exit 77; }
ip link add v0 netns $a type veth peer name v1 netns $b
ip -n $a addr add 10.89.0.1/24 dev v0
ip -n $b addr add 10.89.0.2/24 dev v1
for end in "$a v0" "$b v1"; do ip -n "${end% *}" link set "${end#* }" up; done
here() { ip netns exec $a "$@"; }
there() { ip netns exec $b "$@"; }
until_it_answers() { until there ss -Hlun "sport = :$1" 2>/dev/null | grep -q .; do sleep 0.1; done; }

there wire probe --answer --quiet >"$place/server" &
there iperf3 -s -p 5201 >/dev/null 2>&1 &
there iperf3 -s -p 5202 >/dev/null 2>&1 &
until_it_answers 24601
until there ss -Hltn 'sport = :5202' | grep -q .; do sleep 0.1; done
if command -v udpst >/dev/null; then
    there udpst -p 24602 >/dev/null 2>&1 &
    until_it_answers 24602
fi

# Mb/s, at the IP layer, up. The truth is the bucket's rate less 14 bytes of Ethernet to a packet of 1250, less what crosses.
row() {
    rate=$1 cross=$2
    for end in "$a v0" "$b v1"; do
        tc -n "${end% *}" qdisc replace dev "${end#* }" root tbf rate "${rate}mbit" burst 3kb latency 30ms
    done
    other=
    if [ "$cross" -gt 0 ]; then
        # UDP, which does not give way; long enough for all that follow, and before all others: on a busy machine it would come in bursts, and nobody knew what is free.
        here chrt -f 30 iperf3 -u -c 10.89.0.2 -p 5202 -b "${cross}M" -l 1222 --pacing-timer 100 -t 900 >/dev/null 2>&1 &
        other=$!
        sleep 1
    fi
    ours=$(here wire probe 10.89.0.2 --up --duration 5s --quiet --json | sed -n 's/.*"capacity_bps":\([0-9]*\).*/\1/p')
    tcp=$(here iperf3 -c 10.89.0.2 -p 5201 -t 3 -J | awk '/"sum_received"/ { s = 1 } s && /bits_per_second/ { gsub(/[^0-9.e+]/, "", $2); print $2; exit }')
    theirs=-
    if command -v udpst >/dev/null; then
        theirs=$(here udpst -u -t 5 -p 24602 10.89.0.2 | sed -n 's/.*Maximum Mbps(L3\/IP): \([0-9.]*\).*/\1/p')
    fi
    # Trains, at rates up to five quarters of the bucket's: a line for each method, beside what is free for packets of 1500 bytes.
    here wire probe 10.89.0.2 --method all --capacity "$((rate * 5 / 4))Mb/s" --packets 100 --samples "${SAMPLES:-3}" --quiet --json --plot "out/$rate-$cross.png" 2>>out/warnings.txt |
        awk -v r="$rate" -v c="$cross" '
            function value(key) { return match($0, "\"" key "\":\"?[^,}\"]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
            /"type":"available"/ {
                method = value("method"); gsub(/"/, "", method)
                free = (r - c * 1264 / 1222) * 1500 / 1514; found = value("available_bps") / 1e6
                off = (found > 0) ? sprintf("%6.1f %%", 100 * (found / free - 1)) : "-"
                printf "%7d %7d %9.1f %9s %9s   %s, %d of %d answers, %.1f MB\n", r, c, free, (found > 0 ? sprintf("%.1f", found) : "-"), off, method, value("answers"), value("samples"), value("cost_bytes") / 1e6
            }' | tee -a out/table.txt >&2 || true
    if [ -n "$other" ]; then
        kill $other 2>/dev/null || { echo "the cross traffic ended too soon" >&2; exit 1; }
        wait $other 2>/dev/null || true
    fi
    awk -v r="$rate" -v c="$cross" -v o="$ours" -v t="$tcp" -v u="$theirs" 'BEGIN {
        # Packets of cross traffic have 28 bytes of headers beside what iperf3 counts.
        truth = r * 1250 / 1264 - c * 1250 / 1222
        printf "%7d %7d %9.1f %9.1f %7.1f %% %9.1f %9s\n", r, c, truth, o / 1e6, 100 * (o / 1e6 / truth - 1), t / 1e6, u }' | tee -a out/table.txt >&2
    echo "measured at $rate Mb/s with $cross Mb/s across"
}

mkdir -p out
: >out/warnings.txt
printf '%7s %7s %9s %9s %9s %9s %9s\n' bucket across free wire error iperf3 udpst | tee out/table.txt >&2
row 200 0
row 200 80
if [ "${1:-}" = all ]; then
    row 1000 0
    row 1000 400
fi
