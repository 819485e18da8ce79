#!/bin/bash
# Turn VLAN 2 into VLAN 1 (paper 001, command 9).
# usage: 09-vlan-translate.sh [FROM [TO]]
dir=${DIR:-/dev/ethpipe}
exec sed 's/8100 00 02 /8100 00 01 /' < "$dir/${1:-0}" > "$dir/${2:-1}"
