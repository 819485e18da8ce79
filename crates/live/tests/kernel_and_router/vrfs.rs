//! VRFs: ports 1 and 2 in one, port 0 outside of it, and the same random packets as for one table.
//!
//! The VRF has a last route that refuses, and the rule of VRFs comes before that of local addresses, as the kernel's manual on VRFs
//! recommends. Otherwise Linux goes on to the main table, and takes packets for addresses outside of the VRF for its own.
//!
//! Not compared: errors to link-local senders, which Linux sends by another link of the VRF than theirs.

use super::{
    Kernel, PLAIN, Sent, Setup, compare_frames, count_of_packets, ours, packets, router_of,
};
use node::random::Random;
use router::router::Config;

const VRF: &str = "ip link add blue type vrf table 500";
/// As `ROUTES` without those of rules; those by ports 1 and 2 are the VRF's.
const ROUTES: [&str; 17] = [
    "10.4.0.0/16 via 10.0.0.3",
    "10.9.9.0/24 via 10.0.0.3",
    "blackhole 10.7.0.0/16",
    "fd09::/16 via fd00:0::3",
    "unreachable fd06::/16",
    "10.9.0.0/16 via 10.0.1.2 vrf blue",
    "10.8.0.0/16 via 10.0.2.2 vrf blue",
    "10.9.9.0/24 via 10.0.2.3 vrf blue",
    "unreachable 10.6.0.0/16 vrf blue",
    "prohibit 10.5.0.0/16 vrf blue",
    "unreachable default metric 4278198272 vrf blue",
    "fd09::/16 via fd00:1::2 vrf blue",
    "fd08::/16 via fd00:2::2 vrf blue",
    "blackhole fd07::/16 vrf blue",
    "prohibit fd05::/16 vrf blue",
    "fd0b::/16 via fe80::7 dev k2 vrf blue",
    "unreachable ::/0 metric 4278198272 vrf blue",
];

/// Removes frames to link-local addresses.
fn to_others(mut all: Sent) -> Sent {
    for frames in &mut all {
        frames.retain(|frame| frame[12..14] != [0x86, 0xDD] || frame[38..40] != [0xFE, 0x80]);
    }
    all
}

fn compare(seed: u64, make: fn(&mut Random, usize) -> Vec<u8>) {
    if !Setup::is_possible("VRFs", VRF) {
        return;
    }
    let before = format!(
        "{VRF}; ip link set blue up; ip link set k1 master blue; ip link set k2 master blue; \
         for version in -4 -6; do ip $version rule add pref 32765 table local; ip $version rule del pref 0; done"
    );
    let setup = Setup {
        before: &before,
        routes: &ROUTES,
        rules: &[],
        ..PLAIN
    };
    let mut kernel = Kernel::with(&setup).expect("a namespace");
    let in_vrf = |_: usize, port: &mut router::router::PortConfig| {
        let is_in = port.name.as_deref() != Some("k0");
        port.vrf = is_in.then(|| String::from("blue"));
    };
    let mut router = router_of(&setup, in_vrf, Config::default());
    compare_frames(
        (seed, count_of_packets()),
        make,
        &mut |port, frame| to_others(kernel.answers(port, frame)),
        &mut |port, frame| {
            let (sent, drops) = ours(&mut router, port, frame);
            (to_others(sent), drops)
        },
    );
}

#[test]
fn random_packets_of_ipv4_stay_in_their_vrf_as_in_linux() {
    compare(11, packets::v4);
}

#[test]
fn random_packets_of_ipv6_stay_in_their_vrf_as_in_linux() {
    compare(12, packets::v6);
}
