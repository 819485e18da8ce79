#!/usr/bin/env bash
# Table 3.4 of paper 003: seconds of the processor for a simulated second, with hosts in pairs at one OpenFlow switch and at two.
# Usage: table-3-4.sh [SIMULATED-SECONDS]
set -e
seconds=${1:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT=%U

# Runs the lab of a file with other numbers of hosts: those at a switch, and those that send at a switch.
run() {
    sed "s/^hosts = .*/hosts = $2/; s/^duration = .*/duration = \"$seconds s\"/; s/^each = .*/each = \"1..$(($3 + 1))\"/" "$1" |
        awk -v was="$4" -v pairs="$3" '{ while (match($0, /n\+[0-9]+/)) {
            printf "%sn + %d", substr($0, 1, RSTART - 1), substr($0, RSTART + 2) / was * pairs
            $0 = substr($0, RSTART + RLENGTH) } print }' >"$work/lab.toml"
    used=$({ time wire lab "$work/lab.toml" >/dev/null 2>"$work/errors"; } 2>&1)
    awk -v used="$used" -v s="$seconds" 'BEGIN { printf "%8.3f", used / s }'
}

echo "hosts                          2       8      12"
printf "one switch              "
for hosts in 2 8 12; do run centralised.toml $hosts $((hosts / 2)) 6; done
printf "\nSDNSIM, the paper             34     180     242\n\n"
echo "hosts                          4       8      12"
printf "two switches            "
for hosts in 4 8 12; do run localised.toml $((hosts / 2)) $((hosts / 4)) 3; done
printf "\nSDNSIM, the paper             42     100     164\n"
