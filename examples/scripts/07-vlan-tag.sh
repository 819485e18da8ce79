#!/bin/bash
# Put a tag of VLAN 1 on every packet (paper 001, command 7). Works with and without timestamps: the
# addresses are the two fields of 12 digits.
# usage: 07-vlan-tag.sh [FROM [TO]]
dir=${DIR:-/dev/ethpipe}
exec sed -E 's/\<([0-9A-F]{12} ){2}/&8100 00 01 /' < "$dir/${1:-0}" > "$dir/${2:-1}"
