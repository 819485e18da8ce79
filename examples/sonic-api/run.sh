#!/bin/bash
# Compiles the listing of figure 4.2 of paper 002 and runs it on two ports of a mount, with a cable between them, as any user: 1,000 packets, 1,250,000 idle characters (1 ms) apart.
# A card in Verilog keeps the gaps exactly; the error of these ports is on standard error.
set -euo pipefail
cd "$(dirname "$0")"
skip() { echo "$1" >&2; exit 77; }
[ -w /dev/fuse ] && command -v fusermount3 > /dev/null || skip "needs /dev/fuse and fusermount3 (Debian: fuse3)"
compiler=$(command -v cc || command -v gcc || command -v clang) || skip "needs a C compiler (Debian: gcc)"
work=$(mktemp -d)
export SONIC_DIR=$work/ports
end() {
    trap - EXIT
    kill $(jobs -p) 2> /dev/null || true
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
"$compiler" -std=gnu11 -Wall -Wextra -Werror -O2 -pthread listing.c sonic.c -o "$work/listing"
# A cable is a UDP port of this machine: one end sends there, the other waits there.
port=$((20000 + $$ % 10000 * 4 + 2))
wire mount "$SONIC_DIR" --on "udp:127.0.0.1:$port" "udp:@127.0.0.1:$port" > /dev/null 2>&1 &
mount=$!
until [ -e "$SONIC_DIR/1" ]; do
    kill -0 "$mount" 2> /dev/null || { echo "wire mount ended" >&2; exit 1; }
    sleep 0.05
done
"$work/listing" "${1:-1000}" "${2:-1250000}"
