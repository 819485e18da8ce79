#!/bin/sh
# A delay with ports in Verilog, with waveforms, and the timing lab in both worlds.
set -e
cd "$(dirname "$0")"
command -v wire-rtl >/dev/null || { echo "wire-rtl is not here: make rtl builds it" >&2; exit 77; }
wire-rtl lab lab.toml --world sim
echo
told=$(mktemp)
trap 'rm -f "$told"' EXIT
wire-rtl lab lab.toml --world cosim --waves nic=999us..1020us --out out 2>"$told" || {
    cat "$told" >&2
    grep -q "built without Verilator" "$told" && exit 77
    exit 1
}
echo
wire-rtl lab ../timing/lab.toml
