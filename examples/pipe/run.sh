#!/bin/sh
# As any user; --allow-commands, since the lab file names programs.
set -e
wire lab lab.toml --allow-commands
wire cut vlan out/b.pcapng | sort | uniq -c
