#!/bin/bash
# Send a packet COUNT times, one every INTERVAL ns, at exact times (paper 000, figure 6.5). The first
# leaves at once and sets timer 1; the others leave at that time and a multiple of the interval.
# usage: oneway.sh [COUNT [INTERVAL]] > DIR/1
# environment: PACKET a line without timestamp, TICK the port's tick in ps (its file tick)
count=${1:-100}
interval=${2:-10000000}
tick=${TICK:-8000}
packet=${PACKET:-FFFFFFFFFFFF 020000000001 88B5$(printf ' 00%.0s' {1..46})}

printf '1100000000000000 %s\n' "$packet"
for (( n = 1; n < count; n++ )); do
    printf '01%014X %s\n' $(( n * interval * 1000 / tick )) "$packet"
done
