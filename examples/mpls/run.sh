#!/bin/sh
# Traces a label switched path with the TTL of packets propagated to their labels, and without.
set -e
cd "$(dirname "$0")"
wire lab lab.toml
for propagate in true false; do
    echo
    echo "ttl_propagate = $propagate"
    printf 'run\ntables t\n' | wire lab lab.toml --shell --set node.edge.ttl_propagate=$propagate --set node.core1.ttl_propagate=$propagate \
        --set node.core2.ttl_propagate=$propagate --set node.far.ttl_propagate=$propagate | grep 'round trip'
done
