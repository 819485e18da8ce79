//! Lines: all ways of reading agree; what is read writes back and reads the same.

use packet::line::{Codec, Form, Lines, Step};

pub fn target(data: &[u8]) {
    let (mut lines, mut rest) = (Lines::default(), data);
    let (mut frame, mut other, mut text) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let (used, line) = match lines.next(rest, true) {
            Step::Line { used, line, .. } => (used, line),
            Step::TooLong { used, .. } | Step::Skip { used } => (used, &[][..]),
            Step::More => break,
        };
        assert!(used > 0);
        rest = &rest[used..];
        let read = Codec::PORTABLE.decode(line, &mut frame);
        for codec in Codec::available() {
            assert_eq!(codec.decode(line, &mut other), read);
            assert!(read.is_err() || other == frame);
        }
        let Ok(Some(head)) = read else { continue };
        let form = Form {
            time: head.stamp.is_some(),
            hash: head.hash.is_some(),
        };
        text.clear();
        for codec in Codec::available() {
            let start = text.len();
            codec
                .encode(&head.packet(&frame), form, &mut text)
                .expect("a frame that was read");
            assert_eq!(codec.decode(&text[start..], &mut other), Ok(Some(head)));
            assert_eq!(other, frame);
            assert_eq!(text[start..], text[..text.len() - start]);
        }
    }
    assert!(rest.is_empty());
}
