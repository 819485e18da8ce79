#!/bin/sh
# Runs the lab in exact simulated time, as any user. The filter's expression is compiled by libpcap.
set -e
cd "$(dirname "$0")"
ldconfig -p | grep -q 'libpcap\.so' || { echo "libpcap is not installed (Debian: apt-get install libpcap0.8)" >&2; exit 77; }
wire lab lab.toml
cksum out/flow.pcapng
