#!/bin/bash
# Keep the packets of a port in a file of records (paper 001, command 2). Ends with Ctrl-C.
# usage: 02-capture.sh FILE [PORT]
exec cat "${DIR:-/dev/ethpipe}/r${2:-0}" > "$1"
