#!/bin/sh
# Builds NAME.cc into DIR, once, and runs it: ns3.sh DIR NAME ARGUMENTS. Fails with a reason on stderr where
# ns-3 is missing (Debian and Ubuntu: apt-get install g++ pkg-config libns3-dev).
set -eu
source=$(dirname "$0")/$2.cc
program=$1/$2
if ! [ "$program" -nt "$source" ]; then
    for tool in g++ pkg-config; do
        command -v "$tool" >/dev/null || { echo "there is no $tool" >&2; exit 1; }
    done
    modules="ns3-applications ns3-point-to-point ns3-internet ns3-traffic-control ns3-network ns3-core"
    # shellcheck disable=SC2086
    pkg-config --exists $modules || { echo "ns-3 is not installed (libns3-dev)" >&2; exit 1; }
    # Of the flags only the folders: the packaged ones name libraries that ns-3 itself was built with.
    # shellcheck disable=SC2046,SC2086
    g++ -O3 -std=c++17 $(pkg-config --cflags-only-I ns3-core) "$source" -o "$program.new" \
        $(pkg-config --libs-only-L ns3-core) $(for module in $modules; do echo "-l$module"; done)
    mv "$program.new" "$program"
fi
shift 2
exec "$program" "$@"
