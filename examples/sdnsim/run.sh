#!/bin/sh
# Runs the labs in exact simulated time, as any user; of the fat tree only what is told first.
set -e
wire lab centralised.toml
echo
wire lab localised.toml
echo
wire lab in-band.toml
echo
wire lab fat-tree.toml >"${TMPDIR:-/tmp}/fat-tree.$$"
head -n 2 "${TMPDIR:-/tmp}/fat-tree.$$"
rm "${TMPDIR:-/tmp}/fat-tree.$$"
