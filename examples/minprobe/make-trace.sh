#!/bin/sh
# Writes out/trace.pcapng, a self-similar trace of 60 ms: it stands in for CAIDA's, which may not be redistributed.
set -e
cd "$(dirname "$0")"
mkdir -p out
awk -f self-similar.awk | sort -n | awk 'BEGIN { for (i = 0; i < 1472; i++) zeros = zeros " 00" }
        { printf "%020X 020000000020 020000000010 0800 45 00 05 DC 00 00 00 00 40 11 EB 38 C6 12 00 01 C6 12 00 02 C0 00 00 09 05 C8 00 00%s\n", $1, zeros }' |
    wire dump - -o out/trace.pcapng
