#!/bin/bash
# Take the Ethernet headers off and keep what was in them, a packet a line (paper 001, command 3).
# For a mount with --no-time; with timestamps it is the fifth field on. `wire cut 4-` does it faster.
# usage: 03-decapsulate.sh FILE [PORT]
exec cut -d' ' -f4- "${DIR:-/dev/ethpipe}/${2:-0}" > "$1"
