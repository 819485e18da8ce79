//! In steady state no packet costs an allocation, however many pass.

use packet::arp::Arp;
use packet::capture::{Block, Interface, PcapWriter, PcapngWriter, Reader};
use packet::ethernet::Mac;
use packet::flow;
use packet::line::{Codec, Form, Lines, Step};
use packet::record;
use packet::{Packet, Stamp};

/// How often `round` allocates, once it has run.
fn allocations(mut round: impl FnMut()) -> u64 {
    round();
    let before = allocations::of_this_thread();
    for _ in 0..100 {
        round();
    }
    allocations::of_this_thread() - before
}

#[test]
fn lines_are_written_and_read_without_allocating() {
    let frames: Vec<Vec<u8>> = [14, 60, 64, 590, 1514, 16_000]
        .map(|n| vec![0xA5; n])
        .into();
    for codec in Codec::available() {
        let (mut text, mut frame) = (Vec::new(), Vec::new());
        let count = allocations(|| {
            text.clear();
            for (index, bytes) in frames.iter().enumerate() {
                let packet = Packet {
                    stamp: Some(Stamp::Word(1)),
                    hash: None,
                    bytes,
                };
                let form = Form {
                    time: index % 2 == 0,
                    hash: index % 3 == 0,
                };
                codec.encode(&packet, form, &mut text).unwrap();
            }
            let (mut lines, mut rest, mut seen) = (Lines::default(), &text[..], 0);
            while let Step::Line { used, line, .. } = lines.next(rest, true) {
                codec.decode(line, &mut frame).unwrap().unwrap();
                rest = &rest[used..];
                seen += 1;
            }
            assert_eq!(seen, frames.len());
            assert!(codec.decode(b"00 not a line", &mut frame).is_err());
        });
        assert_eq!(count, 0, "{codec:?}");
    }
}

#[test]
fn records_are_written_and_read_without_allocating() {
    let frame = [0x5A; 1514];
    let mut bytes = Vec::new();
    let count = allocations(|| {
        bytes.clear();
        for _ in 0..10 {
            let packet = Packet {
                stamp: Some(Stamp::Word(1)),
                hash: None,
                bytes: &frame,
            };
            record::encode(&packet, &mut bytes).unwrap();
        }
        let (mut rest, mut seen) = (&bytes[..], 0);
        while let record::Step::Packet { used, .. } = record::next(rest, true) {
            rest = &rest[used..];
            seen += 1;
        }
        assert_eq!(seen, 10);
    });
    assert_eq!(count, 0);
}

#[test]
fn captures_are_written_and_read_without_allocating() {
    let frame = [0x5A; 1514];
    let mut writer = PcapngWriter::default();
    let (mut head, mut bytes) = (Vec::new(), Vec::new());
    writer.header("", &mut head);
    writer.interface(&Interface::default(), &mut head);
    let mut reader = Reader::default();
    let mut read = |mut rest: &[u8], see: &mut dyn FnMut(Block<'_>)| {
        while let Ok(packet::capture::Step::Block { used, block }) = reader.next(rest, false) {
            see(block);
            rest = &rest[used..];
        }
    };
    read(&head, &mut |_| ());
    let count = allocations(|| {
        bytes.clear();
        for at in 0..10 {
            writer.packet(0, at * 67_200, &frame, &mut bytes);
        }
        let mut seen = 0;
        read(&bytes, &mut |block| {
            let Block::Packet { bytes, .. } = block else {
                return;
            };
            assert_eq!((bytes, flow::hash(bytes)), (&frame[..], 0));
            seen += 1;
        });
        assert_eq!(seen, 10);
        bytes.clear();
        for at in 0..10 {
            PcapWriter::NANO.packet(at * 67_200, &frame, &mut bytes);
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn headers_are_built_and_read_without_allocating() {
    let mut frame = Vec::new();
    let count = allocations(|| {
        frame.clear();
        let us = Mac([2, 0, 0, 0, 0, 1]);
        Arp::request(us, [10, 0, 0, 1].into(), [10, 0, 0, 2].into()).build_frame(&mut frame);
        assert_eq!(Arp::parse(&frame[14..]).unwrap().sender_mac, us);
    });
    assert_eq!(count, 0);
}
