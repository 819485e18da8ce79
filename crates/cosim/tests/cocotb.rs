//! The blocks against models of the line and of the host that somebody else wrote: cocotbext-eth and cocotbext-axi, under Icarus.

use std::path::Path;
use std::process::Command;

/// Runs a block's benches in Python, of modules with these parameters; whether they pass and what they tell, or nothing, with a word on it,
/// where something is missing.
fn bench(block: &str, parameters: &[&str]) -> Option<(bool, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = root.join("target/cocotb-venv/bin");
    if !tools.join("python").exists() {
        println!("skipped: cocotb is not here; `.ci/setup test` fetches it");
        return None;
    }
    // The simulator loads Python as a library, which an interpreter can do without.
    let library = Command::new(tools.join("cocotb-config"))
        .arg("--libpython")
        .output();
    if !library.is_ok_and(|found| found.status.success()) {
        println!("skipped: Python is not here as a library (Debian: apt-get install python3-dev)");
        return None;
    }
    let has = |program: &str| Command::new(program).arg("-V").output().is_ok();
    if !has("iverilog") {
        println!("skipped: iverilog is not here (Debian: apt-get install iverilog)");
        return None;
    }
    let ran = Command::new(tools.join("python"))
        .arg(root.join("rtl/cocotb_bench.py"))
        .arg(block)
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cocotb{}", parameters.concat())))
        .args(parameters)
        .current_dir(&root)
        .output()
        .unwrap();
    let told = [ran.stdout, ran.stderr].concat();
    let told = String::from_utf8_lossy(&told).into_owned();
    Some((ran.status.success(), told))
}

#[test]
fn the_mac_and_its_pcs_pass_the_benches_of_cocotbext_eth() {
    let Some((passed, told)) = bench("mac10g", &[]) else {
        return;
    };
    assert!(passed, "{told}");
    for module in ["mac10g_rx", "mac10g_tx", "mac_pcs10g"] {
        let passed = format!("{module}: 2 of 2 tests in Python passed");
        assert!(told.contains(&passed), "{told}");
    }
}

#[test]
fn frames_pass_a_pcs_with_dtp_in_it_unchanged() {
    let Some((passed, told)) = bench("dtp", &[]) else {
        return;
    };
    assert!(passed && told.contains("dtp_pcs10g: 1 of 1 "), "{told}");
}

#[test]
fn the_timing_nic_keeps_ticks_stamps_and_line_rate_by_the_clock_of_cocotbext_eth() {
    let Some((passed, told)) = bench("timing_nic", &[]) else {
        return;
    };
    assert!(passed && told.contains("timing_nic: 3 of 3 "), "{told}");
}

#[test]
fn the_timing_nic_at_10_gigabits_keeps_ticks_stamps_and_line_rate_by_the_clock_of_cocotbext_eth() {
    let Some((passed, told)) = bench("timing_nic10g", &[]) else {
        return;
    };
    assert!(passed && told.contains("timing_nic10g: 7 of 7 "), "{told}");
    let (passed, told) = bench("timing_nic10g", &["RX_LATENCY=7"]).unwrap();
    assert!(!passed && told.contains("timing_nic10g: 6 of 7 "), "{told}");
}

#[test]
fn a_timing_nic_with_a_small_ring_refuses_the_records_that_it_has_no_words_for() {
    let Some((passed, told)) = bench("timing_nic10g", &["RING=8"]) else {
        return;
    };
    assert!(passed && told.contains("timing_nic10g: 7 of 7 "), "{told}");
}

#[test]
fn a_timing_nic_whose_stamps_are_a_tick_off_is_found_out() {
    let Some((passed, told)) = bench("timing_nic", &["RX_LATENCY=7"]) else {
        return;
    };
    assert!(!passed && told.contains("timing_nic: 2 of 3 "), "{told}");
}
