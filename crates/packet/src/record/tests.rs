use super::*;
use alloc::vec;

fn record(word: u64, frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let packet = Packet {
        stamp: Some(Stamp::Word(word)),
        hash: Some(7),
        bytes: frame,
    };
    encode(&packet, &mut out).unwrap();
    out
}

/// What comes out when the stream arrives in pieces of `piece` bytes: words, and bytes skipped.
fn read(stream: &[u8], piece: usize) -> (Vec<u64>, Vec<usize>) {
    let (mut words, mut skipped, mut buffer) = (Vec::new(), vec![0], Vec::new());
    let mut pieces = stream.chunks(piece);
    loop {
        let next_piece = pieces.next();
        buffer.extend_from_slice(next_piece.unwrap_or_default());
        let mut at = 0;
        loop {
            at += match next(&buffer[at..], next_piece.is_none()) {
                Step::Packet { used, packet } => {
                    words.push(packet.stamp.and_then(Stamp::word).unwrap());
                    skipped.push(0);
                    used
                }
                Step::Skip { bytes } => {
                    assert_ne!(bytes, 0);
                    *skipped.last_mut().unwrap() += bytes;
                    bytes
                }
                Step::More => break,
            };
        }
        buffer.drain(..at);
        assert!(
            buffer.len() <= MAX_RECORD_LEN + MAX_HEADER_LEN,
            "the buffer grows without bound"
        );
        if next_piece.is_none() {
            assert!(buffer.is_empty());
            return (words, skipped);
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let mut out = vec![1];
    let frame = [0xEE; 14];
    let packet = Packet {
        stamp: Some(Stamp::Word(0x75B_CD15)),
        hash: Some(0x0102_0304),
        bytes: &frame,
    };
    encode(&packet, &mut out).unwrap();
    let header = [
        1, 0x37, 0x76, 0, 14, 0, 0, 0, 0, 7, 0x5B, 0xCD, 0x15, 1, 2, 3, 4,
    ];
    assert_eq!(out[..17], header);
    assert_eq!(next(&out[1..], false), Step::Packet { used: 30, packet });
}

#[test]
fn frames_that_no_record_carries_are_refused() {
    for length in [0, 13, MAX_FRAME_LEN + 1] {
        let frame = vec![0; length];
        let packet = Packet {
            stamp: None,
            hash: None,
            bytes: &frame,
        };
        assert_eq!(encode(&packet, &mut Vec::new()), Err(BadLength(length)));
    }
}

#[test]
fn garbage_is_skipped_and_counted_however_the_stream_is_cut() {
    let mut stream = record(1, &[0xAA; 60]);
    stream.extend_from_slice(b"garbage 7v \x37\x76 \x37"); // 15 bytes, magic with no length inside
    stream.extend_from_slice(&record(2, &[0x37; 99]));
    stream.extend_from_slice(&record(3, &[0x37; 14]));
    for piece in [1, 2, 3, 5, 16, 17, 100, 1_000] {
        assert_eq!(
            read(&stream, piece),
            (vec![1, 2, 3], vec![0, 15, 0, 0]),
            "{piece}"
        );
    }
}

#[test]
fn a_header_inside_garbage_needs_another_behind_it() {
    let mut stream = b"x\x37\x76\x00\x10".to_vec(); // a header of 16 bytes that nothing follows
    stream.extend_from_slice(&[0; 60]);
    stream.extend_from_slice(&record(5, &[1; 20]));
    for piece in [1, 7, 1_000] {
        assert_eq!(read(&stream, piece), (vec![5], vec![65, 0]));
    }
}

#[test]
fn a_record_cut_off_at_the_end_is_skipped_and_counted() {
    let whole = record(1, &[2; 60]);
    for cut in 1..whole.len() {
        let stream = [&whole[..], &whole[..cut]].concat();
        for piece in [1, 1_000] {
            assert_eq!(read(&stream, piece), (vec![1], vec![0, cut]), "{cut}");
        }
    }
}

#[test]
fn a_wrong_length_loses_one_record() {
    for length in [0u16, 13, 16_001, 65_534, 65_535] {
        let mut stream = record(1, &[3; 40]);
        stream[2..4].copy_from_slice(&length.to_be_bytes());
        stream.extend_from_slice(&record(2, &[4; 40]));
        assert_eq!(read(&stream, 64), (vec![2], vec![56, 0]), "{length}");
    }
}

#[test]
fn a_long_frame_has_its_length_behind_the_header_and_a_short_one_does_not() {
    for (length, header) in [
        (16_000, HEADER),
        (16_001, HEADER + LENGTH),
        (MAX_FRAME_LEN, HEADER + LENGTH),
    ] {
        let frame = vec![0xAB; length];
        let out = record(9, &frame);
        assert_eq!(out.len(), header + length);
        assert_eq!(super::frame(&out), Some(header..out.len()));
        let told = u16::from_be_bytes([out[2], out[3]]);
        assert_eq!(usize::from(told) == length, header == HEADER, "{told}");
        // Miri takes a minute byte by byte.
        for piece in [if cfg!(miri) { 1_000 } else { 1 }, 4_096, 1 << 20] {
            let stream = [&out[..], &record(2, &[1; 60])].concat();
            assert_eq!(read(&stream, piece), (vec![9, 2], vec![0, 0, 0]));
        }
    }
}

#[test]
fn a_long_length_that_is_none_loses_one_record() {
    // A short frame has no long form either; 4 GB is nothing to wait for.
    for length in [0, 14, 16_000, MAX_FRAME_LEN as u32 + 1, u32::MAX] {
        let mut stream = record(1, &[3; 40]);
        stream[2..4].copy_from_slice(&LONG.to_be_bytes());
        stream[16..20].copy_from_slice(&length.to_be_bytes());
        stream.extend_from_slice(&record(2, &[4; 40]));
        for piece in [1, 64] {
            assert_eq!(read(&stream, piece), (vec![2], vec![56, 0]), "{length}");
        }
    }
}

#[test]
fn a_long_record_cut_off_at_the_end_is_skipped_and_counted() {
    let whole = record(1, &[2; 20_000]);
    for cut in [1, 3, 4, 15, 16, 17, 19, 20, 21, 19_999] {
        let stream = [&whole[..], &whole[..cut]].concat();
        for piece in [1, 1_000] {
            assert_eq!(read(&stream, piece), (vec![1], vec![0, cut]), "{cut}");
        }
    }
}

#[test]
fn a_dated_record_is_that_of_the_format() {
    let mut out = Vec::new();
    let packet = Packet {
        stamp: Date::from_ps(0x0102_0304_0506_0708_090A).map(Stamp::Date),
        hash: Some(0xAABB_CCDD),
        bytes: &[0xEE; 14],
    };
    encode(&packet, &mut out).unwrap();
    let header = [
        0x37, 0x77, 0, 14, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xAA, 0xBB, 0xCC, 0xDD,
    ];
    assert_eq!(out, [&header[..], &[0xEE; 14]].concat());
    assert_eq!(next(&out, true), Step::Packet { used: 34, packet });
    // A date beyond 80 bits is none.
    out[5] = 1;
    assert_eq!(next(&out, true), Step::Skip { bytes: 34 });
}
