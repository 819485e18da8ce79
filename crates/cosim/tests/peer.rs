//! The PCS against that of verilog-ethernet, under Icarus.

use std::path::Path;
use std::process::Command;

/// Runs the bench, with a bit that is wrong or without; nothing, with a word on it, where something is missing.
fn bench(name: &str, broken: bool) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let peer = root.join("target/peers/verilog-ethernet/rtl");
    if !peer.join("eth_phy_10g.v").exists() {
        println!("skipped: verilog-ethernet is not here; rtl/peers fetches it");
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("iverilog")
        .args(["-g2005-sv", "-s", "peer", "-y", "rtl/pcs10g/rtl", "-y"])
        .args(["rtl/mac10g/rtl", "-y"])
        .arg(&peer)
        .arg(format!("-Ppeer.BREAK={}", u8::from(broken)))
        .arg("-o")
        .args([&program, Path::new("rtl/mac10g/tb/peer.v")])
        .current_dir(&root)
        .output();
    let Ok(built) = built else {
        println!("skipped: iverilog is not here (Debian: apt-get install iverilog)");
        return None;
    };
    assert!(built.status.success(), "{built:?}");
    let ran = Command::new("vvp")
        .arg("-n")
        .arg(&program)
        .output()
        .unwrap();
    Some(String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn the_pcs_and_verilog_ethernets_understand_each_other_both_ways() {
    let Some(told) = bench("peer.vvp", false) else {
        return;
    };
    assert!(told.contains("PASS: "), "{told}");
}

#[test]
fn a_wrong_bit_on_the_way_to_the_peer_would_be_seen() {
    let Some(told) = bench("peer-broken.vvp", true) else {
        return;
    };
    assert!(
        told.contains("FAIL: ") && told.contains("the peer received"),
        "{told}"
    );
}
