#!/bin/bash
# One port of a learning switch (paper 001, figure 6; command 12): run one for each port, with one and
# the same table. For a mount with --no-time. Addresses that were never senders go to every other port.
# usage: 12-learning-switch.sh PORT < DIR/PORT
# environment: DIR the mount, PORTS how many (4), TABLE a folder for what was learned
dir=${DIR:-/dev/ethpipe}
table=${TABLE:-/tmp/switch}
me=$1
mkdir -p "$table"

while read -r frame; do
    destination=${frame:0:12}
    source=${frame:13:12}
    # Only stations are learned, not groups; the table is written only when it changes.
    known=
    [ -f "$table/$source" ] && read -r known < "$table/$source"
    if [ "$known" != "$me" ] && (( (0x$source & 0x010000000000) == 0 )); then
        echo "$me" > "$table/.$me" && mv "$table/.$me" "$table/$source"
    fi
    to=
    [ -f "$table/$destination" ] && read -r to < "$table/$destination"
    if [ -n "$to" ]; then
        [ "$to" = "$me" ] || echo "$frame" > "$dir/$to"
    else
        for (( port = 0; port < ${PORTS:-4}; port++ )); do
            [ "$port" = "$me" ] || echo "$frame" > "$dir/$port"
        done
    fi
done
