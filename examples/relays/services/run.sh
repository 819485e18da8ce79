#!/bin/bash
# Three services of relays, each a page of Python, in exact simulated time.
set -e -o pipefail
cd "$(dirname "$0")"
command -v python3 >/dev/null || { echo "python3 is not here" >&2; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
wire lab cache.toml --allow-commands
echo
wire lab transform.toml --allow-commands
wire cut payload out/end.pcapng | sort | uniq -c | cut -c-200
echo
# Each of the ten of one is there twice for the two others, but for those before a member has said anything.
wire lab overlay.toml --allow-commands >/dev/null
for member in a c; do
    echo "$member got, and from whom:"
    wire cut ip.src,ip.dst,dport,payload out/$member.pcapng | awk '{ print $1, $2, $3, "stream", $34 $35 }' | sort | uniq -c
done
