#!/bin/sh
# Finds all paths to a host through two diamonds of routers in simulated time, and, as root, through the same of Linux routers.
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
wire lab lab.toml
echo
printf 'run\ntables t\n' | wire lab lab.toml --shell
wire lab kernel.toml --check >/dev/null
[ "$(id -u)" = 0 ] || { echo "Linux's routers need root, for network namespaces" >&2; exit 77; }
echo
# By chance one trace in twenty misses an interface after a branching point: that is its alpha. Linux's hash has one secret from its start on, so
# that only other flows are another chance.
for try in 1 2 3; do
    found=$(wire lab kernel.toml --world live --json --set node.t.port=$((33434 + 1000 * try)) | grep '"node":"t"' | grep -o '"interfaces":[0-9]*')
    [ "$found" != '"interfaces":9' ] || { echo "through Linux's routers: 9 interfaces"; exit 0; }
done
echo "through Linux's routers: $found"
