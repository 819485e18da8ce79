#!/bin/bash
# A learning switch: 12-learning-switch.sh on every port, until Ctrl-C.
# usage: 12-switch.sh
dir=${DIR:-/dev/ethpipe}
export DIR=$dir PORTS=${PORTS:-4} TABLE=${TABLE:-$(mktemp -d /tmp/switch.XXXXXX)}
trap 'trap - INT TERM; kill $(jobs -p) 2> /dev/null; wait; rm -rf "$TABLE"' EXIT
trap 'exit 0' INT TERM
for (( port = 0; port < PORTS; port++ )); do
    "$(dirname "$0")/12-learning-switch.sh" "$port" < "$dir/$port" &
done
wait
