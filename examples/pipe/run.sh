#!/bin/sh
# As any user; --allow-commands, since the lab file names programs.
set -e
cd "$(dirname "$0")"
wire lab lab.toml --allow-commands
cksum out/b.pcapng
