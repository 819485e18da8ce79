#!/bin/bash
# Take the tag of VLAN 1 off (paper 001, command 8).
# usage: 08-vlan-untag.sh [FROM [TO]]
dir=${DIR:-/dev/ethpipe}
exec sed 's/8100 00 01 //' < "$dir/${1:-0}" > "$dir/${2:-1}"
