//! Meters, in the reference interpreter; the corpus runs them in both engines.

use crate::programs;
use pipeline::stf;

#[test]
fn a_direct_meter_meters_a_packet_once_however_often_it_is_read() {
    let (mut pipeline, _) = programs::pipeline("meters.p4");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    let text = std::fs::read_to_string(folder.join("meters.stf")).unwrap();
    let script = stf::parse(&text).expect("a script without faults");
    let outcome = stf::run(&script, &mut pipeline);
    assert!(outcome.failures.is_empty(), "{outcome:?}");
}
