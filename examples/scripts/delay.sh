#!/bin/bash
# Send every packet on a fixed time after it came in (paper 000, figure 6.7): the word that the port
# gave it, plus the delay, is its departure. Exact however long the shell takes, if that is less.
# usage: delay.sh [NANOSECONDS] < DIR/0 > DIR/1
# environment: TICK the port's tick in ps (its file tick)
delay=$(( ${1:-1000000000} * 1000 / ${TICK:-8000} ))

while read -r word frame; do
    # A line without a timestamp is not from a port with time=on.
    [ ${#word} -eq 16 ] && printf '%016X %s\n' $(( 0x$word + delay )) "$frame"
done
