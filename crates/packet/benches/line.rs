//! Lines against plain hex of the same bytes, and against the bounds of this machine's memory.
//!
//! `cargo bench -p wireline-packet --bench line` prints packet bytes a second, best of many short
//! turns that the contenders take by rotation, and each contender's ratio to `faster-hex`.
#![allow(clippy::disallowed_methods)] // a benchmark reads the clock

mod race;

use packet::Stamp;
use packet::line::{Codec, Form, Head, Lines, Step};
use race::{Contender, print};
use std::hint::black_box;

/// Frame bytes that one batch holds: what it reads and writes stays in the second-level cache.
const BATCH: usize = 8_000;

/// Frames of `length` bytes that look like anything: a xorshift's output.
fn frames(length: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..BATCH / length)
        .map(|_| (0..length).map(|_| byte()).collect())
        .collect()
}

fn encode(length: usize) {
    let frames = frames(length);
    let (count, bytes) = (frames.len(), frames.len() * length);
    let mut hex = vec![0; 2 * length];
    let mut ip = frames.clone();
    for frame in &mut ip {
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    }
    let mut contenders: Vec<Contender<'_>> = vec![(
        "faster-hex, no spaces".into(),
        Box::new(|| {
            for frame in &frames {
                faster_hex::hex_encode_upper(frame, &mut hex).unwrap();
                black_box(&mut hex);
            }
        }),
    )];
    let form = Form::default();
    let lines = form.length(length) * count;
    let mut fill = vec![0; lines];
    let head = Head {
        stamp: Some(Stamp::Word(0x075B_CD15)),
        hash: None,
    };
    contenders.push((
        "bound: fill of the text".into(),
        Box::new(move || {
            fill.fill(b' ');
            black_box(&mut fill);
        }),
    ));
    for codec in Codec::available() {
        let (frames, mut text) = (&frames, Vec::new());
        contenders.push((
            format!("line, {codec:?}"),
            Box::new(move || {
                text.clear();
                for frame in frames {
                    codec.encode(&head.packet(frame), form, &mut text).unwrap();
                }
                black_box(&mut text);
            }),
        ));
    }
    let form = Form {
        time: true,
        hash: true,
    };
    let (frames, mut text) = (&ip, Vec::new());
    contenders.push((
        "best, hash computed".into(),
        Box::new(move || {
            text.clear();
            for frame in frames {
                packet::line::encode(&head.packet(frame), form, &mut text).unwrap();
            }
            black_box(&mut text);
        }),
    ));
    print(&format!("encode, {length} B"), bytes, count, contenders);
}

fn decode(length: usize) {
    let frames = frames(length);
    let (count, bytes) = (frames.len(), frames.len() * length);
    let hex: Vec<_> = frames
        .iter()
        .map(|frame| faster_hex::hex_string(frame))
        .collect();
    let head = Head {
        stamp: Some(Stamp::Word(0x075B_CD15)),
        hash: None,
    };
    let mut text = Vec::new();
    let mut ends = Vec::new();
    for frame in &frames {
        packet::line::encode(&head.packet(frame), Form::default(), &mut text).unwrap();
        ends.push(text.len());
    }
    let (mut back, mut frame) = (vec![0; length], Vec::new());
    let mut contenders: Vec<Contender<'_>> = vec![(
        "faster-hex, no spaces".into(),
        Box::new(|| {
            for hex in &hex {
                faster_hex::hex_decode(hex.as_bytes(), &mut back).unwrap();
                black_box(&mut back);
            }
        }),
    )];
    contenders.push((
        "bound: read of the text".into(),
        Box::new(|| {
            black_box(memchr::memchr(b'x', black_box(&text)));
        }),
    ));
    for codec in Codec::available() {
        let (text, ends, mut frame) = (&text, &ends, Vec::new());
        contenders.push((
            format!("line, {codec:?}"),
            Box::new(move || {
                let (mut at, mut words) = (0, 0u64);
                for &end in ends {
                    let head = codec.decode(&text[at..end], &mut frame).unwrap().unwrap();
                    words = head
                        .stamp
                        .and_then(Stamp::word)
                        .unwrap()
                        .wrapping_add(words);
                    black_box(&mut frame);
                    at = end;
                }
                black_box(words);
            }),
        ));
    }
    contenders.push((
        "lines of a stream, best".into(),
        Box::new(|| {
            let (mut lines, mut rest, mut words) = (Lines::default(), &text[..], 0u64);
            while let Step::Line { used, line, .. } = lines.next(rest, false) {
                let head = packet::line::decode(line, &mut frame).unwrap().unwrap();
                words = head
                    .stamp
                    .and_then(Stamp::word)
                    .unwrap()
                    .wrapping_add(words);
                rest = &rest[used..];
            }
            black_box((words, &mut frame));
        }),
    ));
    print(&format!("decode, {length} B"), bytes, count, contenders);
}

fn main() {
    // `cargo test --benches` runs this too, and wants only to see that it works.
    let lengths = [60, 1514];
    for length in lengths {
        encode(length);
    }
    for length in lengths {
        decode(length);
    }
}
