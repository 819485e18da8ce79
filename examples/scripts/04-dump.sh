#!/bin/bash
# Keep the packets of a port as pcapng, with nanosecond stamps, for Wireshark (paper 001, command 4: ethdump).
# usage: 04-dump.sh FILE [PORT]
port=${DIR:-/dev/ethpipe}/r${2:-0}
exec wire dump < "$port" > "$1"
