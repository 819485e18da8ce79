//! What the ECP5 Versa board has beside the timing NIC.

use crate::bench;
use std::path::Path;

fn board(bench: &str, parameters: &[&str]) -> Option<String> {
    let file = format!("rtl/versa/tb/{bench}.v");
    bench::run(&file, bench, parameters, &[Path::new("rtl/versa/rtl")])
}

#[test]
fn frames_cross_between_clocks_200_ppm_apart_and_not_between_those_500_apart() {
    // Half periods in units of 100 fs.
    for (parameters, passes) in [
        (["IN=39996", "OUT=40004"], true),
        (["IN=40004", "OUT=39996"], true),
        (["IN=40010", "OUT=39990"], false),
    ] {
        let Some(told) = board("elastic_tb", &parameters) else {
            return;
        };
        assert_eq!(told.contains("PASS: 40 frames"), passes, "{told}");
        assert_eq!(told.contains("ran dry"), !passes, "{told}");
    }
}

#[test]
fn records_go_over_the_serial_line_both_ways_and_what_is_cut_off_harms_no_other() {
    if let Some(told) = board("uart_records_tb", &[]) {
        assert!(told.contains("PASS: 39 words, 2 records dropped"), "{told}");
    }
}
