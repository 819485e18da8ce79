#!/bin/bash
# The bound of compress.py on this machine: processor time of a packet with 1,470 bytes of payload, forwarded and compressed, and from it the packets a second of
# one core. The paper's relay has 12,000 packets/s.
set -e -o pipefail
cd "$(dirname "$0")"
command -v python3 >/dev/null || { echo "python3 is not here" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=${1:-12000}
wire gen --count "$count" --size 1516 --payload 'random(0.923)' --no-time >"$work/lines"
printf '%-11s %14s %14s\n' packets 'us a packet' 'a second'
for wait in 0 5000000; do
    # Each packet has its queue's state in front of it: empty, or 5 ms long.
    awk -v wait=$wait '{ print "# port=0 wait_ns.1=" wait " bytes.1=0 rate.1=100000000"; print }' "$work/lines" >"$work/stated"
    TIMEFORMAT='%U %S'
    took=$( { time python3 compress.py <"$work/stated" >/dev/null; } 2>&1 )
    echo "$took" | awk -v count="$count" -v what="$([ $wait = 0 ] && echo passed || echo compressed)" '{ each = ($1 + $2) / count; printf "%-11s %14.1f %14.0f\n", what, each * 1e6, 1 / each }'
done
