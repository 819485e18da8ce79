//! Five-tuples, checksums and captures against crates that do the same, and against bounds.
//!
//! `cargo bench -p wireline-packet --bench headers` prints the best of many short turns; ratios are
//! to the first contender of each table.
#![allow(clippy::disallowed_methods)] // a benchmark reads the clock

mod race;

use packet::capture::{Block, Interface, PcapngWriter, Reader, Step};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::Ipv6;
use packet::udp::Udp;
use packet::{checksum, flow};
use pcap_parser::traits::PcapNGPacketBlock;
use race::{Contender, print};
use std::hint::black_box;

const COUNT: usize = 128;

/// UDP frames of `length` bytes, of as many flows.
fn frames(length: usize, six: bool) -> Vec<Vec<u8>> {
    let udp = |n: u8| Udp {
        source_port: 4000 + u16::from(n),
        destination_port: 53,
    };
    let frame = |n: u8| {
        let kind = if six {
            ethertype::IPV6
        } else {
            ethertype::IPV4
        };
        let (destination, source) = (Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, n]));
        let mut frame = Vec::new();
        Ethernet {
            destination,
            source,
            tags: &[],
            ethertype: kind,
        }
        .build(&mut frame, |out| {
            if six {
                let ip = Ipv6::new([n; 16].into(), [9; 16].into(), protocol::UDP);
                let fill = vec![n; length - 62];
                ip.build(out, |out| {
                    udp(n).build(ip.pseudo(), out, |out| out.extend(fill))
                });
            } else {
                let ip = Ipv4::new([n; 4].into(), [9; 4].into(), protocol::UDP);
                let fill = vec![n; length - 42];
                ip.build(out, |out| {
                    udp(n).build(ip.pseudo(), out, |out| out.extend(fill))
                });
            }
        });
        frame
    };
    (0..COUNT as u8).map(frame).collect()
}

fn hashes(six: bool) {
    let frames = frames(64, six);
    let contenders: Vec<Contender<'_>> = vec![
        (
            "etherparse, fields only".into(),
            Box::new(|| {
                for frame in &frames {
                    let packet = etherparse::SlicedPacket::from_ethernet(black_box(frame)).unwrap();
                    black_box(&packet);
                }
            }),
        ),
        (
            "bound: CRC instructions only".into(),
            Box::new(|| {
                let length = if six { 37 } else { 13 };
                for frame in &frames {
                    black_box(crc32c::crc32c(black_box(
                        &frame[26 - usize::from(six) * 4..][..length],
                    )));
                }
            }),
        ),
        (
            "layers, all headers".into(),
            Box::new(|| {
                for frame in &frames {
                    for layer in packet::layers(black_box(frame)) {
                        black_box(&layer);
                    }
                }
            }),
        ),
        (
            "flow::five_tuple".into(),
            Box::new(|| {
                for frame in &frames {
                    black_box(flow::five_tuple(black_box(frame)));
                }
            }),
        ),
        (
            "flow::hash".into(),
            Box::new(|| {
                for frame in &frames {
                    black_box(flow::hash(black_box(frame)));
                }
            }),
        ),
    ];
    let title = if six {
        "five-tuple hash, IPv6"
    } else {
        "five-tuple hash, IPv4"
    };
    print(title, 64 * COUNT, COUNT, contenders);
}

fn checksums(length: usize) {
    let frames = frames(length, false);
    let contenders: Vec<Contender<'_>> = vec![
        (
            "etherparse".into(),
            Box::new(|| {
                for frame in &frames {
                    let sum = etherparse::checksum::u64_16bit_word::add_slice(0, black_box(frame));
                    black_box(etherparse::checksum::u64_16bit_word::ones_complement(sum));
                }
            }),
        ),
        (
            "checksum::checksum".into(),
            Box::new(|| {
                for frame in &frames {
                    black_box(checksum::checksum(black_box(frame)));
                }
            }),
        ),
    ];
    print(
        &format!("checksum, {length} B"),
        length * COUNT,
        COUNT,
        contenders,
    );
}

fn captures(length: usize) {
    let frames = frames(length, false);
    let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("bench", &mut file);
    writer.interface(&Interface::default(), &mut file);
    let mut out = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        writer.packet(
            0,
            1_700_000_000_000_000_000_000 + at as u128,
            frame,
            &mut file,
        );
    }
    let contenders: Vec<Contender<'_>> = vec![
        (
            "pcap-parser, slices".into(),
            Box::new(|| {
                let mut rest = black_box(&file[..]);
                while let Ok((next, block)) = pcap_parser::parse_block_le(rest) {
                    if let pcap_parser::Block::EnhancedPacket(packet) = block {
                        black_box((packet.ts_low, packet.packet_data()));
                    }
                    rest = next;
                }
            }),
        ),
        (
            "capture::Reader".into(),
            Box::new(|| {
                let (mut rest, mut reader) = (black_box(&file[..]), Reader::default());
                while let Ok(Step::Block { used, block }) = reader.next(rest, true) {
                    if let Block::Packet { at_ps, bytes, .. } = block {
                        black_box((at_ps, bytes));
                    }
                    rest = &rest[used..];
                }
            }),
        ),
        (
            "bound: copy of the file".into(),
            Box::new(|| {
                let mut copy = Vec::with_capacity(file.len());
                copy.extend_from_slice(black_box(&file));
                black_box(copy);
            }),
        ),
        (
            "capture::PcapngWriter".into(),
            Box::new(|| {
                out.clear();
                for (at, frame) in frames.iter().enumerate() {
                    let at_ps = 1_700_000_000_000_000_000_000 + at as u128;
                    writer.packet(0, at_ps, black_box(frame), &mut out);
                }
                black_box(&mut out);
            }),
        ),
    ];
    print(
        &format!("pcapng, {length} B"),
        length * COUNT,
        COUNT,
        contenders,
    );
}

fn main() {
    hashes(false);
    hashes(true);
    for length in [64, 1514] {
        checksums(length);
        captures(length);
    }
}
