//! Probes: what a frame is said to carry is what stands in it.

use measure::probe;

pub fn target(data: &[u8]) {
    if let Some(found) = probe::parse(data) {
        let at = probe::offset(data).expect("a probe has a place");
        assert_eq!(data[at..at + probe::LEN], found.to_bytes());
    }
    if let Some(found) = probe::Probe::from_bytes(data) {
        assert_eq!(data[..probe::LEN], found.to_bytes());
    }
}
