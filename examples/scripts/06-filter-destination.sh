#!/bin/bash
# Let through packets to one address (paper 001, command 6). For a mount with --no-time; with timestamps
# the address is $2. fflush: a packet is to leave when it comes, not when a block of them is full.
# usage: 06-filter-destination.sh [ADDRESS [FROM [TO]]]
dir=${DIR:-/dev/ethpipe}
exec gawk -v address="${1:-001122334455}" '$1 == address { print; fflush() }' \
    < "$dir/${2:-0}" > "$dir/${3:-1}"
