#!/bin/sh
# Runs mininet-measure.py with an Open vSwitch of its own, in namespaces of its own: mininet-measure.sh WORDS. Fails with a reason on stderr where
# something is missing (Debian: apt-get install mininet openvswitch-switch iperf3).
set -eu
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
[ -e /usr/lib/python3/dist-packages/mininet ] || { echo "Mininet is not installed" >&2; exit 1; }
for program in ovsdb-server ovs-vswitchd iperf3 ping; do
    command -v $program >/dev/null || { echo "there is no $program" >&2; exit 1; }
done
# With the PID namespace goes all that is left.
exec unshare --mount --net --pid --fork --mount-proc sh -euc '
ip link set lo up
mkdir -p /run/openvswitch
mount -t tmpfs none /run/openvswitch
cd /run/openvswitch
ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema
quiet="--no-chdir --pidfile -vconsole:off -vfile:off -vsyslog:off"
ovsdb-server conf.db --remote=punix:/run/openvswitch/db.sock --detach $quiet
ovs-vsctl --no-wait init
ovs-vswitchd --disable-system --detach $quiet
cd /
/usr/bin/python3 "$@"' sh "$here/mininet-measure.py" "$@"
