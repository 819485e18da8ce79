#!/bin/bash
# Table 6.1 of the thesis on this machine, MB of lines of 64-byte frames a second: the shell's own tools on a port without a wire (as the paper's dummy driver: each read makes lines), the same on a file
# in memory, and those of `wire`. The argument is the number of frames. Without /dev/fuse there is no port, and `-` stands for it.
set -e
frames=${1:-2000000}
work=$(mktemp -d /dev/shm/table61.XXXXXX)
lines=$work/lines port=$work/ports
end() {
    [ -z "$mount" ] || kill "$mount" 2> /dev/null || true
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap end EXIT
wire gen --count "$frames" --gap 1us --no-time --src 00:22:22:22:22:22 --dst 00:33:33:33:33:33 > "$lines"
size=$(stat -c %s "$lines")
if [ -w /dev/fuse ] && command -v fusermount3 > /dev/null; then
    wire mount --no-time "$port" --on dummy > /dev/null 2>&1 &
    mount=$!
    until [ -e "$port/0" ]; do kill -0 "$mount"; sleep 0.05; done
fi
five=$(for n in 1 2 4 5 6; do printf '|^00%s' $n$n$n$n$n$n$n$n$n$n; done)
five=${five#|}
rules=$(for n in 1 2 4 5 6; do printf ' dst=00%s' $n$n$n$n$n$n$n$n$n$n; done)
# row NAME PAPER COMMAND WIRE: the command reads its standard input.
row() {
    local told=$2 began
    for command in "${mount:+head -c $size $port/0 | $3}" "$3 < $lines" "$4"; do
        [ -n "$command" ] || { told="$told -"; continue; }
        began=$(date +%s%N)
        # A filter that finds nothing ends with 1, which is no fault here.
        eval "$command" | cat > /dev/null || true
        told="$told $((size * 1000 / ($(date +%s%N) - began)))"
    done
    printf '%-26s %10s %10s %10s %10s\n' "$1" $told
}
printf '%-26s %10s %10s %10s %10s\n' 'MB/s' paper port file wire
row 'capture' 1097 "cat" "wire cat --no-time $lines"
row 'one rule' 833 "grep ^001111111111" "wire match dst=001111111111 -f $lines"
row 'five rules' 184 "grep -E '$five'" "wire match$rules -f $lines"
row 'header taken off' 8 "cut -d' ' -f3-" "wire cut 3- $lines"
