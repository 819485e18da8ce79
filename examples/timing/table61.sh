#!/bin/bash
# Table 6.1 of the thesis on this machine: the shell's own tools on lines of 64-byte frames in memory, and wire's beside them. The
# argument is the number of frames.
set -e
frames=${1:-2000000}
lines=$(mktemp /dev/shm/table61.XXXXXX)
trap 'rm -f "$lines"' EXIT
wire gen --count "$frames" --gap 1us --no-time --src 00:22:22:22:22:22 --dst 00:33:33:33:33:33 > "$lines"
size=$(stat -c %s "$lines")
five=$(for n in 1 2 4 5 6; do printf '|^00%s' $n$n$n$n$n$n$n$n$n$n; done)
five=${five#|}
rules=$(for n in 1 2 4 5 6; do printf ' dst=00%s' $n$n$n$n$n$n$n$n$n$n; done)
row() {
    name=$1 paper=$2
    shift 2
    for command in "$@"; do
        began=$(date +%s%N)
        # A filter that finds nothing ends with 1, which is no fault here.
        eval "$command" | cat > /dev/null || true
        took=$(($(date +%s%N) - began))
        paper="$paper $((size * 1000 / took))"
    done
    printf '%-26s %10s %10s %10s\n' "$name" $paper
}
printf '%-26s %10s %10s %10s\n' 'MB/s' paper shell wire
row 'capture' 1097 "cat $lines" "wire cat --no-time $lines"
row 'one rule' 833 "grep ^001111111111 $lines" "wire match dst=001111111111 -f $lines"
row 'five rules' 184 "grep -E '$five' $lines" "wire match$rules -f $lines"
row 'header taken off' 8 "cut -d' ' -f3- $lines" "wire cut 3- $lines"
