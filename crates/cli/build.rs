//! Says how `wire` is linked.

use std::process::Command;

/// Since this version glibc applies packed relocations (DT_RELR).
const PACKED: [u32; 2] = [2, 36];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name| std::env::var(name).unwrap_or_default();
    let is_here = set("TARGET") == set("HOST") && set("CARGO_CFG_TARGET_ENV") == "gnu";
    // 49,000 addresses in data that hang on where the program is loaded: a bit each in place of 24 bytes, which every start reads.
    if is_here && glibc().is_some_and(|version| version >= PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc; `None` where that cannot be told.
fn glibc() -> Option<[u32; 2]> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some([major.parse().ok()?, minor.parse().ok()?])
}
