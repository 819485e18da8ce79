#!/bin/sh
# Runs the labs in exact simulated time, as any user: lost datagrams, and the roles of ports.
set -e
cd "$(dirname "$0")"
for lab in ring ring-stp lag; do
    wire lab $lab.toml --check >/dev/null
    echo "$lab"
    wire lab $lab.toml | sed -n '/^flow/,/^$/p'
done
for time in 59 61; do
    echo "after $time s"
    printf 'run until %s s\ntables s2\ntables s3\ntables s4\n' $time | wire lab ring.toml --shell | grep -E '^ *(bridge|port) '
done
