#!/bin/sh
# A trace as cross traffic (figure 4.22 of paper 002 has CAIDA's, which may not be redistributed): self-similar.awk
# generates this one. Any other capture may be used:
# usage: trace.sh [CAPTURE]
set -e
trace=out/trace.pcapng
[ -z "$1" ] || trace=$(realpath "$1")
cd "$(dirname "$0")"
mkdir -p out
if [ -z "$1" ]; then
    awk -f self-similar.awk | sort -n | awk 'BEGIN { for (i = 0; i < 1472; i++) zeros = zeros " 00" }
            { printf "%020X 020000000020 020000000010 0800 45 00 05 DC 00 00 00 00 40 11 EB 38 C6 12 00 01 C6 12 00 02 C0 00 00 09 05 C8 00 00%s\n", $1, zeros }' |
        wire dump - -o "$trace"
fi
sed "s|^x = .*|x = { kind = \"generator\", replay = \"${trace#out/}\", loops = 0, start = \"20 us\" }|" bursty.toml >out/trace.toml
wire lab out/trace.toml
