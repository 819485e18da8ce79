//! The PCS against that of verilog-ethernet.

use crate::bench;
use std::path::Path;

/// Runs the bench, with a bit that is wrong or without; nothing, with a word on it, where something is missing.
fn peer(broken: &str) -> Option<String> {
    let peer = Path::new("target/peers/verilog-ethernet/rtl");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(peer).join("eth_phy_10g.v").exists() {
        println!("skipped: verilog-ethernet is not here; rtl/peers fetches it");
        return None;
    }
    let folders = ["rtl/pcs10g/rtl", "rtl/mac10g/rtl"].map(Path::new);
    let folders = [folders[0], folders[1], peer];
    bench::run("rtl/mac10g/tb/peer.v", "peer", &[broken], &folders)
}

#[test]
fn the_pcs_and_verilog_ethernets_understand_each_other_both_ways() {
    let Some(told) = peer("BREAK=0") else {
        return;
    };
    assert!(told.contains("PASS: "), "{told}");
}

#[test]
fn a_wrong_bit_on_the_way_to_the_peer_would_be_seen() {
    let Some(told) = peer("BREAK=1") else {
        return;
    };
    assert!(
        told.contains("FAIL: ") && told.contains("the peer received"),
        "{told}"
    );
}
