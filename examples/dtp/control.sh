#!/bin/sh
# The control interface of figure D.25 (paper 002) on the tree of figure 4.30, while simulated time stands still: states and delays of the switch s1, and a beacon interval that is set.
set -e
cd "$(dirname "$0")"
wire lab --shell lab.toml <<END
run until 1 ms
dtp s1 get_mode
dtp s1 read_state 0
dtp s1 read_delay 0
dtp s1 read_beacon_interval 0
dtp s1 set_beacon_interval 0 1000
dtp s1 read_beacon_interval 0
step 100 us
dtp s1 debug_sent_msg 0
dtp s1 read_error 0
END
