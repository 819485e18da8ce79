#!/bin/bash
# Send the packets of a file of records out of a port (paper 001, command 1).
# usage: 01-generate.sh FILE [PORT]
exec cat "$1" > "${DIR:-/dev/ethpipe}/r${2:-1}"
