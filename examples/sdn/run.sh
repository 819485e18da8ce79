#!/bin/sh
# The simulated part, whose figures are always the same; then both worlds, where there are root and Open vSwitch. Times of
# the live part differ from run to run, so that only its tables are counted.
set -e
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
wire lab lab.toml --check >/dev/null
wire lab lab.toml --world sim --dry
[ "$(id -u)" = 0 ] && command -v ovs-vswitchd >/dev/null || { echo "only simulated: no root, or no Open vSwitch" >&2; exit 0; }
both=$(wire lab lab.toml --dry)
count() { echo "$both" | grep -c "$1"; }
[ "$(count '^OFLOPS: actions')" = 2 ] && [ "$(count '^OFLOPS: insert')" = 2 ] && [ "$(count '^side by side')" = 1 ] || {
    echo "$both"
    exit 1
}
