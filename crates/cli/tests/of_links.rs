//! A port of `wire of switch` that loses its carrier, is set down, is removed and returns, seen by ovs-ofctl.

use crate::shell::{Place, has, is_root, lines};

const SCRIPT: &str = r#"
unshare --net bash -e -c '
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link set lo up
for i in 1 2 3; do
    ip link add s$i type veth peer name h$i
    ip link set s$i up
    ip link set h$i up
done
wire of switch --on s1,s2,s3 --listen ptcp:6654:127.0.0.1 --protocols 1.3 > report 2>&1 &
switch=$!
trap "kill $switch; wait $switch || true" EXIT
of() { ovs-ofctl -O OpenFlow13 $1 tcp:127.0.0.1:6654 "${@:2}"; }
state() { of show | grep -A2 "^ $1(" | sed -n "s/ *state: *//p"; }
until_state() { for i in $(seq 600); do [ "$(state $1 2> /dev/null)" != $2 ] || return 0; sleep 0.1; done; echo "port $1 is not $2"; return 1; }
until_state 2 LIVE
of add-group group_id=1,type=ff,bucket=watch_port:2,actions=output:2,bucket=watch_port:3,actions=output:3
of add-flow in_port=1,actions=group:1
counts() { of dump-group-stats | grep -o "packet_count=[0-9]*" | tr "\n" " "; echo; }
pass() { for i in $(seq 600); do case "$(counts)" in "packet_count=$1 "*) break ;; esac; sleep 0.1; done; counts; }
wire send h1 packets > /dev/null 2>&1
pass 1
ip link set h2 down
until_state 2 LINK_DOWN
wire send h1 packets > /dev/null 2>&1
pass 2
ip link set h2 up
until_state 2 LIVE
of mod-port 2 down
wire send h1 packets > /dev/null 2>&1
pass 3
of mod-port 2 up
wire send h1 packets > /dev/null 2>&1
pass 4
ip link set s2 down
until_state 2 LINK_DOWN
ip link set s2 up
until_state 2 LIVE
ip link del s2
until_state 2 LINK_DOWN
wire send h1 packets > /dev/null 2>&1
pass 5
ip link add s2 type veth peer name h2
ip link set h2 up
ip link set s2 up
until_state 2 LIVE
wire send h1 packets > /dev/null 2>&1
pass 6
kill $switch
wait $switch || true
trap - EXIT
grep "link down" report
'
"#;

#[test]
fn a_port_without_a_carrier_or_interface_is_told_and_fast_failover_leaves_it_until_it_returns() {
    let test = "link state of live ports";
    if !is_root(test) || !has("ovs-ofctl", test) || !has("ip", test) {
        return;
    }
    let place = Place::new("of-links");
    place.write("packets", lines(1));
    let ended = place.run(SCRIPT);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().map(str::trim).collect();
    let (counts, told) = lines.split_at(lines.len().min(6));
    // Each time that it went, and the sum in the end.
    assert_eq!(
        told.iter()
            .filter(|line| **line == "wire: s2: link down")
            .count(),
        3
    );
    assert!(
        told.iter()
            .any(|line| line.starts_with("s2: link down 3 times")),
        "{told:?}"
    );
    // All that the group got, then by bucket.
    assert_eq!(
        counts,
        [
            "packet_count=1 packet_count=1 packet_count=0",
            "packet_count=2 packet_count=1 packet_count=1",
            "packet_count=3 packet_count=1 packet_count=2",
            "packet_count=4 packet_count=2 packet_count=2",
            "packet_count=5 packet_count=2 packet_count=3",
            "packet_count=6 packet_count=3 packet_count=3",
        ],
        "{ended:?}"
    );
}
