//! No path reads outside the frame or the line that it is given: both end, or begin, where no
//! memory is.
#![cfg(unix)]

use packet::Stamp;
use packet::line::{Codec, Form, Head};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ptr::{self, NonNull};

/// The largest page there is, so that the arithmetic holds everywhere.
const PAGE: usize = 64 << 10;

/// A page between two that must not be touched.
struct Island(NonNull<u8>);

impl Island {
    fn new() -> Island {
        // SAFETY: a new mapping, of which the outer thirds lose their rights before it is used.
        unsafe {
            let all = ProtFlags::READ | ProtFlags::WRITE;
            let start = mmap_anonymous(ptr::null_mut(), 3 * PAGE, all, MapFlags::PRIVATE).unwrap();
            mprotect(start, PAGE, MprotectFlags::empty()).unwrap();
            mprotect(start.byte_add(2 * PAGE), PAGE, MprotectFlags::empty()).unwrap();
            Island(NonNull::new(start.cast()).unwrap())
        }
    }

    /// A copy of `bytes` that ends where the island ends, or begins where it begins.
    fn copy(&mut self, bytes: &[u8], at_end: bool) -> &[u8] {
        let offset = PAGE + if at_end { PAGE - bytes.len() } else { 0 };
        // SAFETY: within the middle page, which nobody else sees.
        unsafe {
            let to = self.0.as_ptr().add(offset);
            ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            std::slice::from_raw_parts(to, bytes.len())
        }
    }
}

impl Drop for Island {
    fn drop(&mut self) {
        // SAFETY: what `new` has mapped; copies borrow from here.
        unsafe { munmap(self.0.as_ptr().cast(), 3 * PAGE).unwrap() };
    }
}

#[test]
fn nothing_is_read_outside_a_frame_or_a_line() {
    let mut island = Island::new();
    let head = Head {
        stamp: Some(Stamp::Word(7)),
        hash: Some(8),
    };
    let (mut text, mut back) = (Vec::new(), Vec::new());
    for length in (14..300).chain([1_514, 16_000]) {
        let frame: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
        for codec in Codec::available() {
            for (form, at_end) in (0..4).flat_map(|form| [(form, false), (form, true)]) {
                let form = Form {
                    time: form & 1 != 0,
                    hash: form & 2 != 0,
                };
                text.clear();
                let packet = head.packet(island.copy(&frame, at_end));
                codec.encode(&packet, form, &mut text).unwrap();
                for cut in [0, 1, 2, 3, 4, 31, 64].map(|cut| text.len().saturating_sub(cut)) {
                    let line = island.copy(&text[..cut], at_end);
                    let read = codec.decode(line, &mut back);
                    assert!(cut + 1 < text.len() || (read.is_ok() && back == frame));
                }
            }
        }
    }
}
