#!/bin/sh
# The fifth tick (paper 002, section 4.5.2 has 4): algorithms 3 and 4 alone, in awk, and the devices in Verilog and in software, whose traces must be
# the same. Clocks are 200 ppm apart, INIT meets the phase at which the slower port measures 2 ticks too few, and each beacon waits a tick in the FIFO.
# usage: fifth-tick.sh [PHASE]: when the slower clock begins, in units of 1/5000 tick; 4930, at which it is seen
set -e
cd "$(dirname "$0")"
phase=${1:-4930}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v phase="$phase" '
# Side 0 is the faster. Times are in units of 1/5000 tick of its clock.
function when(side, tick) { return tick * period[side] + (side ? phase : 0) }
function tick_at(side, time,    tick) {
    tick = int((time - (side ? phase : 0)) / period[side])
    return when(side, tick) < time ? tick + 1 : tick
}
function send(side, tick, kind, counter, held,    at) {
    at = tick_at(1 - side, when(side, tick) + cable) + held
    came[1 - side, at] = kind " " counter
}
function step(side, tick,    message, before) {
    if (tick > up) counter[side]++                                     # T5: one port, so that gc = lc
    if (answer[side] != "") { send(side, tick, "init-ack", answer[side] + 1, 0); answer[side] = "" }
    if (tick == up + 1) send(side, tick, "init", counter[side], 0)     # T0
    if (d[side] != "" && tick >= beacon_at[side]) {                    # T3
        send(side, tick, "beacon", counter[side], 1)
        beacon_at[side] = tick + beacon
    }
    if (!((side, tick) in came)) return
    split(came[side, tick], message)
    delete came[side, tick]
    before = counter[side]
    if (message[1] == "init") answer[side] = message[2]                # T1; the tick that it waits is added to it
    if (message[1] == "init-ack") {                                    # T2; BEACON-MSB and BEACON-JOIN twice follow
        d[side] = int((counter[side] - message[2] - alpha) / 2)
        beacon_at[side] = tick + 4
    }
    if (message[1] == "beacon") {                                      # T4
        if (message[2] + d[side] > counter[side]) counter[side] = message[2] + d[side]
        if (!side) return
        if (tick >= 9000) {
            print tick "\t" message[2] "\t" message[2] + d[side] "\t" before "\t" counter[side] "\t" greatest
            if (greatest > most) most = greatest
        }
        greatest = 0
    }
}
BEGIN {
    period[0] = 5000; period[1] = 5001; cable = 44 * 5000; alpha = 3; beacon = 200; up = 10
    print "tick\tbeacon\twith delay\tbefore\tafter\toffset"
    for (tick[0] = tick[1] = 0; tick[0] < 16000; tick[side]++) {
        side = when(0, tick[0]) <= when(1, tick[1]) ? 0 : 1
        step(side, tick[side])
        if (counter[0] - counter[1] > greatest) greatest = counter[0] - counter[1]
    }
    print "greatest offset: " most " ticks"
}' > "$work/paper"
if ! command -v wire-rtl > /dev/null; then
    cat "$work/paper"
    echo "the devices in Verilog and in software: skipped, wire-rtl is not here" >&2
    exit 77
fi
wire-rtl check dtp-bound --phase "$phase" > "$work/devices"
cmp "$work/paper" "$work/devices"
cat "$work/paper"
echo "algorithms 3 and 4, Verilog and software: the same"
