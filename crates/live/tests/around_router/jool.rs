//! The same random packets through Jool and through the stateless translator. `.ci/guest-router` builds Jool's modules for the guest's
//! kernel, and runs this test there.

use super::tayga::{HOST, HOST_V6, PREFIX, SETUP, compare};
use super::{have, kernels};
use packet::ipv4::protocol;

/// Known differences between Jool's packets and ours for one that was sent.
fn known(sent: &[u8], jool: &[Vec<u8>], ours: &[Vec<u8>]) -> Option<&'static str> {
    // Each translator chooses the identification of the IPv4 packet that an error quotes, which its header's checksum covers.
    let without_choice = |packet: &Vec<u8>| {
        let mut packet = packet.clone();
        let is_error = packet[0] == 0x45 && packet.len() >= 48 && matches!(packet[20], 3 | 11 | 12);
        if is_error && packet[9] == protocol::ICMP {
            packet[32..34].fill(0);
            packet[38..40].fill(0);
        }
        packet
    };
    let is_same = jool.len() == ours.len()
        && jool
            .iter()
            .map(without_choice)
            .eq(ours.iter().map(without_choice));
    if is_same {
        return Some("another identification in a quoted packet");
    }
    // UDP without a checksum gets one, in the first fragment after headers of 40 and 8 bytes.
    let without_checksum = |packet: &Vec<u8>| {
        let mut packet = packet.clone();
        if packet[0] >> 4 == 6 && packet.len() >= 56 && packet[42..44] == [0, 1] {
            packet[54..56].fill(0);
        }
        packet
    };
    let header = 14 + usize::from(sent[14] & 15) * 4;
    let has_none =
        sent[12] == 8 && sent[23] == protocol::UDP && sent[header + 6..header + 8] == [0, 0];
    let is_same = jool
        .iter()
        .map(without_checksum)
        .eq(ours.iter().map(without_checksum));
    (has_none && ours.len() == 2 && is_same)
        .then_some("Jool's checksum of a datagram that it cuts is wrong")
}

#[test]
fn jool_and_the_translator_send_the_same_packets() {
    let modules = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    if !modules.contains("jool_siit ") {
        return println!("skipped: the kernel has no module jool_siit; .ci/guest-router builds it");
    }
    if !have(&["jool_siit"]) {
        return;
    }
    let Some((kernels, mut ports)) = kernels(&[SETUP]) else {
        return;
    };
    kernels.output(
        0,
        &format!(
            "jool_siit instance add --netfilter --pool6 {PREFIX} && jool_siit eamt add {HOST} {HOST_V6} && \
             jool_siit global update amend-udp-checksum-zero true && jool_siit global update logging-debug false"
        ),
    );
    // The kernel's own address is not translated.
    compare(ports.remove(0), [10, 9, 0, 1].into(), known).check();
}
