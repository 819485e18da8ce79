#!/bin/sh
# What `wire probe` says of a token bucket beside what iperf3 says, and udpst if it is there. Figures differ from run to run, so that
# they go to standard error and out/table.txt, and only what was measured is shown.
# usage: run.sh [MBIT...]: the bucket's rate, 200 if none is given, each alone and with two fifths of it across. METHODS="minprobe topp": these only; SAMPLES=10; CROSS=0: only what is given;
# BURST=1600: the bucket's depth, which is what 120 us of its rate bring if nothing is given; SHAPER=htb: and not tbf. A train has a packet for each 2 Mb/s, so that
# its depth and a pause of the machine are as much of a train at each rate.
set -e
cd "$(dirname "$0")"
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
[ -z "$RPS" ] || ip netns exec $b sh -c "echo $RPS >/sys/class/net/v1/queues/rx-0/rps_cpus"
here() { ip netns exec $a "$@"; }
there() { ip netns exec $b "$@"; }
until_it_answers() { until there ss -Hlun "sport = :$1" 2>/dev/null | grep -q .; do sleep 0.1; done; }

there wire probe --answer --quiet >"$place/server" &
there iperf3 -s -p 5201 >/dev/null 2>&1 &
there iperf3 -s -p 5202 -i 1 --forceflush >"$place/across" 2>&1 &
until_it_answers 24601
until there ss -Hltn 'sport = :5202' | grep -q .; do sleep 0.1; done
if command -v udpst >/dev/null; then
    there udpst -j -p 24602 >/dev/null 2>&1 &
    until_it_answers 24602
fi

# The Mb/s that the rest of a line carries of a program while it runs, beside what it says: what of the traffic across arrived meanwhile, the median of seconds.
seconds() { grep -c 'sec .*bits/sec' "$place/across" || true; }
across() { # FROM
    grep 'sec .*bits/sec' "$place/across" | tail -n "+$(($1 + 2))" | sed -n 's/.* \([0-9.]*\) Mbits\/sec.*/\1/p' | sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : 0 }'
}
# A load and what it carried: more than is free where it pushes aside what crosses. What is true of it is what the bucket carries less what of the traffic across arrived meanwhile.
load() { # NAME, and a command that prints Mb/s
    name=$1 from=$(seconds)
    shift
    found=$("$@")
    awk -v r="$rate" -v c="$cross" -v f="$found" -v a="$(across "$from")" -v n="$name" 'BEGIN {
        # Packets of 1250 bytes have 14 more in the bucket, and those across 28 of headers beside what iperf3 counts.
        truth = r * 1250 / 1264 - a * 1250 / 1222
        printf "%7d %7d %9.1f %9s %9s   %s, beside %.1f across\n", r, c, truth, f, (f > 0) ? sprintf("%.1f %%", 100 * (f / truth - 1)) : "-", n, a }' | tee -a out/table.txt >&2
}
# RFC 9097's search goes up by some 200 Mb/s in each second. udpst's longer datagrams above 1 Gb/s do not fit through this path.
wire_load() { here wire probe 10.89.0.2 --up --duration "${long}s" --quiet --json $1 | sed -n 's/.*"capacity_bps":\([0-9]*\).*/\1/p' | awk '{ printf "%.1f", $1 / 1e6 }'; }
udpst_load() { here udpst -j -u -t "$long" -p 24602 10.89.0.2 | sed -n 's/.*Maximum Mbps(L3\/IP): \([0-9.]*\).*/\1/p'; }
tcp_load() { here iperf3 -c 10.89.0.2 -p 5201 -t "$long" -J | awk '/"sum_received"/ { s = 1 } s && /bits_per_second/ { gsub(/[^0-9.e+]/, "", $2); printf "%.1f", $2 / 1e6; exit }'; }

shape() { # NAMESPACE INTERFACE
    case ${SHAPER:-tbf} in
        tbf) tc -n "$1" qdisc replace dev "$2" root tbf rate "${rate}mbit" burst "${BURST:-$((rate * 15))}" latency 30ms ;;
        htb)
            # One that is there already is not changed by a second command.
            tc -n "$1" qdisc del dev "$2" root 2>/dev/null || true
            tc -n "$1" qdisc add dev "$2" root handle 1: htb default 1
            tc -n "$1" class add dev "$2" parent 1: classid 1:1 htb rate "${rate}mbit" burst "${BURST:-$((rate * 15))}" cburst "${BURST:-$((rate * 15))}"
            tc -n "$1" qdisc add dev "$2" parent 1:1 bfifo limit "$((rate * 3750))"
            ;;
    esac
}
row() {
    rate=$1 cross=$2 long=$((5 + $1 / 200))
    for end in "$a v0" "$b v1"; do
        shape "${end% *}" "${end#* }"
    done
    other=
    if [ "$cross" -gt 0 ]; then
        # UDP, which does not give way; long enough for all that follow, and before all others: on a busy machine it would come in bursts, and nobody knew what is free.
        # Not by a function: the process to end would be the shell around it.
        ip netns exec $a chrt -f 30 iperf3 -u -c 10.89.0.2 -p 5202 -b "${cross}M" -l 1222 --pacing-timer $((8000 / cross)) -t 900 >/dev/null 2>&1 &
        other=$! from=$(seconds)
        sleep 4
        awk -v a="$(across "$from")" -v c="$cross" 'BEGIN { exit !(a < 0.9 * c) }' && { echo "the traffic across does not arrive: $(across "$from") of $cross Mb/s" >&2; exit 1; }
    fi
    # Trains, at rates up to five quarters of the bucket's: a line for each method, beside what is free for packets of 1500 bytes.
    for method in ${METHODS:-all}; do
        here wire probe 10.89.0.2 --method "$method" --capacity "$((rate * 5 / 4))Mb/s" --packets $((rate / 2)) --samples "${SAMPLES:-3}" --json --plot "out/$rate-$cross.png" 2>>out/warnings.txt |
            awk -v r="$rate" -v c="$cross" '
            function value(key) { return match($0, "\"" key "\":\"?[^,}\"]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
            { method = value("method"); gsub(/"/, "", method) }
            /"type":"sample"/ && value("available_bps") == "null" && match($0, "\"how\":\"[^\"]*") { why[method] = ": " substr($0, RSTART + 7, RLENGTH - 7) }
            /"type":"available"/ {
                free = (r - c * 1264 / 1222) * 1500 / 1514; found = value("available_bps") / 1e6
                off = (found > 0) ? sprintf("%.1f %%", 100 * (found / free - 1)) : "-"
                printf "%7d %7d %9.1f %9s %9s   %s, %d of %d answers, %.1f MB%s\n", r, c, free, (found > 0 ? sprintf("%.1f", found) : "-"), off, method, value("answers"), value("samples"), value("cost_bytes") / 1e6, why[method]
            }' | tee -a out/table.txt >&2 || true
    done
    load "RFC 9097, wire" wire_load
    command -v udpst >/dev/null && load "RFC 9097, udpst" udpst_load
    load "TCP, iperf3" tcp_load
    if [ -n "$other" ]; then
        kill $other 2>/dev/null || { echo "the cross traffic ended too soon" >&2; exit 1; }
        wait $other 2>/dev/null || true
    fi
    echo "measured at $rate Mb/s with $cross Mb/s across"
}

mkdir -p out
: >out/warnings.txt
printf '%7s %7s %9s %9s %9s\n' bucket across true found error | tee out/table.txt >&2
for rate in ${*:-200}; do
    for cross in ${CROSS:-0 $((rate * 2 / 5))}; do
        row "$rate" "$cross"
    done
done
