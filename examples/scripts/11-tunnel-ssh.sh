#!/bin/bash
# Send what comes in on a port out of a port of another machine, by ssh (paper 001, command 11). One
# direction; for both, run it on the other side too. $SSH may hold options: SSH="ssh -p 2222".
# usage: 11-tunnel-ssh.sh [USER@]HOST [PORT]
port=${DIR:-/dev/ethpipe}/r${2:-0}
there=${THERE:-/dev/ethpipe}/r${2:-0}
cat "$port" | ${SSH:-ssh} "$1" "cat > '$there'"
