#!/bin/sh
# One short run of each; figures of the live world differ from run to run, so that only their rows are counted.
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
for program in iperf3 ping tc; do
    command -v $program >/dev/null || { echo "no $program" >&2; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "needs root, for network namespaces" >&2; exit 77; }
rows=$(./figure-12.sh --quick --rates 98 | grep -c '^ *98 ')
[ "$rows" = 1 ] || exit 1
rows=$(./video.sh --htb | grep -c '%')
[ "$rows" = 2 ]
