#!/bin/bash
# Give a port to the kernel's own stack as interface pipe0 (paper 001, command 13: tappipe): then
# `ip addr add`, ping, dhclient and tcpdump -i pipe0 work on it. Ends with Ctrl-C.
# usage: 13-stack.sh [INTERFACE [PORT]]
port=${DIR:-/dev/ethpipe}/${2:-0}
exec wire tap "${1:-pipe0}" < "$port" > "$port"
