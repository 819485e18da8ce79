#!/bin/bash
# Let through packets to one address (paper 001, command 6). For a mount with --no-time; with timestamps
# the address is $2.
# usage: 06-filter-destination.sh [ADDRESS [FROM [TO]]]
dir=${DIR:-/dev/ethpipe}
exec gawk -v address="${1:-001122334455}" '$1 == address { print }' \
    < "$dir/${2:-0}" > "$dir/${3:-1}"
