#!/bin/bash
# Burstiness of cross traffic by time scale (figure 4.16 of paper 002): the wavelet energy of even packets, of bursty ones, and of the self-similar trace of trace.sh, all of
# 3 Gb/s. Writes out/figure-4-16.svg and prints the base-2 logarithm of the energy at some octaves.
# usage: figure-4-16.sh [CAPTURE...]: others beside them, such as one of CAIDA's
set -euo pipefail
others=
for capture; do others="$others $(realpath "$capture")"; done
cd "$(dirname "$0")"
mkdir -p out
./make-trace.sh
gen() { name=$1; shift; wire gen --rate 3Gb/s --duration 50ms "$@" | wire dump - -o "out/$name.pcapng"; }
gen cbr1 --size 792
gen cbr2-0.3 --pattern 'chains(0.3)' --size 'cbr2(792,0.3)'
gen cbr2-0.9 --pattern 'chains(0.9)' --size 'cbr2(792,0.9)'
gen poisson --size 792 --pattern poisson
cd out
wire profile --energy cbr1.pcapng cbr2-0.3.pcapng cbr2-0.9.pcapng poisson.pcapng trace.pcapng $others \
    --title 'Wavelet energy of cross traffic (MinProbe, figure 4.16)' --plot figure-4-16.svg --json |
    jq -r '[.name, (.energy[] | select(.octave == (8, 11, 13, 15, 17, 19, 21)) | if .energy > 0 then .energy | log2 * 100 | round / 100 else "none" end)] | @tsv' |
    awk 'BEGIN { FS = "\t"; printf "%-20s", "log2 of energy at"; for (j = 8; j <= 21; j += j < 11 ? 3 : 2) printf "%8s", "2^" j " ns"; print "" }
        { printf "%-20s", $1; for (i = 2; i <= NF; i++) printf "%8s", $i; print "" }'
