#!/bin/bash
# Ping an address, with no stack but this script (paper 000, figure 6.11, completed): finds the address
# by ARP, sends ICMP echo requests that set timer 1 when they really leave, and prints the time
# between that and the word of the answer, which is the time on the wire and in the other host alone.
# usage: ping.sh FROM_IP TO_IP [COUNT] < DIR/0 > DIR/0
# environment: DIR the mount, PORT (0), MAC the sender's address, WAIT s for an answer, INTERVAL s
from=$1 to=$2 count=${3:-4}
folder=${DIR:-/dev/ethpipe}/${PORT:-0}.d
mac=${MAC:-020000000101}
read -r tick < "$folder/tick"
mark=1100000000000000

say() { echo "$@" >&2; }
# hex of a dotted address: 0A 09 00 01
address() { local IFS=.; printf '%02X %02X %02X %02X' $1; }
# a MAC address as bytes
bytes() { local m=$1; echo "${m:0:2} ${m:2:2} ${m:4:2} ${m:6:2} ${m:8:2} ${m:10:2}"; }
# The Internet checksum (RFC 1071) of bytes: the ones' complement sum of 16-bit words.
checksum() {
    local sum=0
    while [ $# -gt 0 ]; do
        (( sum += 0x$1 << 8 | 0x${2:-00} ))
        shift; [ $# -gt 0 ] && shift
    done
    while (( sum >> 16 )); do (( sum = (sum & 0xFFFF) + (sum >> 16) )); done
    printf '%02X %02X' $(( ~sum >> 8 & 0xFF )) $(( ~sum & 0xFF ))
}

# bash has no time limit for reading a regular file, which a port's file is to it; a pipe has one.
exec {port}< <(exec cat)
trap 'kill $! 2> /dev/null' EXIT
# Waits for a line that matches, and leaves its fields in `line`.
await() {
    local pattern=$1 until=$(( SECONDS + ${WAIT:-2} ))
    while (( SECONDS <= until )) && read -r -t "${WAIT:-2}" -u "$port" line; do
        [[ $line =~ $pattern ]] && return
    done
    return 1
}

here=$(address "$from") there=$(address "$to")
echo "FFFFFFFFFFFF $mac 0806 00 01 08 00 06 04 00 01 $(bytes "$mac") $here 00 00 00 00 00 00 $there$(printf ' 00%.0s' {1..18})"
if ! await "$mac ([0-9A-F]{12}) 0806 00 01 08 00 06 04 00 02 [0-9A-F ]{18}$there "; then
    say "no answer to ARP from $to"
    exit 1
fi
peer=${BASH_REMATCH[1]}

id=$(printf '%02X %02X' $(( $$ >> 8 & 0xFF )) $(( $$ & 0xFF )))
data=$(printf ' %02X' {16..63})
good=0
for (( n = 1; n <= count; n++ )); do
    number=$(printf '%02X %02X' $(( n >> 8 & 0xFF )) $(( n & 0xFF )))
    # 20 bytes of IP, 8 of ICMP, 48 of data.
    ip="45 00 00 4C $number 00 00 40 01"
    sum=$(checksum $ip 00 00 $here $there)
    icmp=$(checksum 08 00 00 00 $id $number $data)
    echo "$mark $peer $mac 0800 $ip $sum $here $there 08 00 $icmp $id $number$data"
    if await "^([0-9A-F]{16}) $mac $peer 0800 45 .* $there $here 00 00 [0-9A-F]{2} [0-9A-F]{2} $id $number"; then
        read -r left < "$folder/timer1"
        rtt=$(( (0x${BASH_REMATCH[1]} - 0x$left) * tick / 1000 ))
        say "answer from $to: number $n, RTT $rtt ns"
        (( good++ ))
    else
        say "no answer from $to: number $n"
    fi
    (( n < count )) && sleep "${INTERVAL:-1}"
done
say "$count sent, $good answered"
(( good > 0 ))
