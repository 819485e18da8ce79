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
    ./make-trace.sh
fi
sed "s|^x = .*|x = { kind = \"generator\", replay = \"${trace#out/}\", loops = 0, start = \"20 us\" }|" bursty.toml >out/trace.toml
wire lab out/trace.toml
