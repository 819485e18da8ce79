//! Checksums and lengths set right: no frame makes it panic, and what has been set right stays as it is.

use packet::repair::Repair;

pub fn target(data: &[u8]) {
    for lengths in [false, true] {
        let mut frame = data.to_vec();
        Repair::new(lengths).frame(&mut frame);
        let once = frame.clone();
        Repair::new(lengths).frame(&mut frame);
        assert_eq!(once, frame);
    }
}
