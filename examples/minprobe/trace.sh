#!/bin/sh
# A trace as cross traffic (figure 4.22 of paper 002 has CAIDA's, which nobody may pass on): this one is made here. It is the sum of 32 sources that are on and off for times drawn from Pareto
# distributions (alpha 1.4 and 1.2), which is self-similar (Willinger et al., 1997): 1518 bytes at 1 Gb/s while on, 3 Gb/s in the mean, 60 ms. Any other capture may stand in its place:
# usage: trace.sh [CAPTURE]
set -e
mkdir -p out
trace=${1:-out/trace.pcapng}
if [ -z "$1" ]; then
    awk 'function pareto(alpha, mean) { return mean * (alpha - 1) / alpha / (1 - rand()) ^ (1 / alpha) }
        BEGIN {
            srand(7)
            for (source = 0; source < 32; source++) {
                at = -rand() * 1e9
                while (at < 60e9) {
                    end = at + pareto(1.4, 1e8)
                    for (; at < end && at < 60e9; at += 12.144e6) if (at >= 0) printf "%.0f\n", at
                    at = end + pareto(1.2, 9.6e8)
                }
            }
        }' | sort -n | awk 'BEGIN { for (i = 0; i < 1472; i++) zeros = zeros " 00" }
            { printf "%020X 020000000020 020000000010 0800 45 00 05 DC 00 00 00 00 40 11 EB 38 C6 12 00 01 C6 12 00 02 C0 00 00 09 05 C8 00 00%s\n", $1, zeros }' |
        wire dump - -o "$trace"
fi
sed "s|^x = .*|x = { kind = \"generator\", replay = \"${trace#out/}\", loops = 0, start = \"20 us\" }|" bursty.toml >out/trace.toml
wire lab out/trace.toml
