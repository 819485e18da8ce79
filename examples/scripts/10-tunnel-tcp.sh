#!/bin/bash
# One Ethernet over a TCP connection (paper 001, command 10); run it on both sides.
# usage: 10-tunnel-tcp.sh listen [PORT]
#        10-tunnel-tcp.sh HOST [PORT]
port=${DIR:-/dev/ethpipe}/${2:-0}
tcp=${TCP:-9999}
case ${1:-listen} in
    listen) exec nc -l "$tcp" < "$port" > "$port" ;;
    *) exec nc "$1" "$tcp" < "$port" > "$port" ;;
esac
