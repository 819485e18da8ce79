//! The page in Chromium, driven by Playwright (`page.py`). `WATCH_PICTURES=FOLDER` keeps pictures of it.

use super::server::{LAB, Served};
use std::path::Path;
use std::process::Command;

#[test]
fn people_watch_a_lab_and_steer_it_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../target/board-venv/bin/python");
    if !python.exists() || !Path::new("/usr/bin/chromium").exists() {
        println!("skipped: no chromium, or no Playwright in target/board-venv (.ci/setup test)");
        return;
    }
    // Long enough for a browser on a slow machine.
    let served = Served::new(Box::leak(LAB.replace("60 s", "600 s").into_boxed_str()));
    let url = format!("http://{}/", served.address);
    let pictures = std::env::var("WATCH_PICTURES").unwrap_or_default();
    let driver = Command::new("timeout")
        .arg("120")
        .arg(python)
        .arg(root.join("tests/page.py"))
        .args([&url, &pictures])
        .output()
        .expect("timeout and Python");
    let errors = String::from_utf8_lossy(&driver.stderr);
    assert!(driver.status.success(), "{errors}");
    let report = served.end();
    assert!(report.contains("world sim"), "{report}");
}
