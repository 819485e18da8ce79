#!/bin/sh
# Runs the lab in exact simulated time, as any user; then reads and detects the message in its captures.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
wire profile out/near.pcapng out/far.pcapng out/clean.pcapng --rate 10Gb/s --plot out/gaps.png > /dev/null
echo
for place in near far; do
    echo "$place: what is heard"
    wire covert decode out/$place.pcapng --idles 300 --epsilon 64 --json | tail -n 1
done
for place in near far clean; do
    echo "$place: two modes in random order?"
    wire covert detect out/$place.pcapng || true
    echo "$place, with exact stamps, against clean traffic"
    wire covert detect out/$place.pcapng --clean out/clean.pcapng || true
done
echo "far, with stamps of software: 1 us, and off by 200 ns"
wire covert detect out/far.pcapng --clean out/clean.pcapng --stamps 1us --jitter 200ns
