//! The libFuzzer entry: one binary for all targets, chosen by WIRE_FUZZ_TARGET (`list` lists them).
#![no_main]

use fuzz::{TARGETS, Target};
use std::sync::LazyLock;

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("WIRE_FUZZ_TARGET").unwrap_or_else(|_| "list".into());
    match TARGETS.iter().find(|(known, _)| *known == name) {
        Some((_, target)) => *target,
        None => {
            TARGETS.iter().for_each(|(known, _)| println!("{known}"));
            std::process::exit(i32::from(name != "list"));
        }
    }
});

libfuzzer_sys::fuzz_target!(
    init: { LazyLock::force(&CHOSEN); },
    |data: &[u8]| CHOSEN(data)
);
