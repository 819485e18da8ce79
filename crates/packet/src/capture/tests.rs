use super::*;
use alloc::vec::Vec;
use std::string::ToString;

const AT: u128 = 1_700_000_000_123_456_789_000;

/// Interface, stamp, original length, bytes, drops, flags.
type Captured = (u32, Option<u128>, u32, Vec<u8>, Option<u64>, Option<u32>);

/// What a whole file holds, without its packets' bytes being copied twice.
#[derive(Debug, Default, PartialEq)]
struct Content {
    interfaces: Vec<Interface>,
    packets: Vec<Captured>,
    statistics: Vec<Statistics>,
    damaged: Vec<CaptureError>,
    error: Option<CaptureError>,
}

/// Reads `file` through a window that grows by `step` bytes whenever the reader asks for more.
fn read(file: &[u8], step: usize) -> Content {
    let (mut reader, mut content) = (Reader::default(), Content::default());
    let (mut start, mut have) = (0, 0);
    loop {
        match reader.next(&file[start..have], have == file.len()) {
            Ok(Step::More) if have == file.len() => break,
            Ok(Step::More) => have = file.len().min(have + step),
            Ok(Step::Block { used, block }) => {
                assert!(used > 0);
                match block {
                    Block::Interface(interface) => content.interfaces.push(*interface),
                    Block::Packet {
                        interface,
                        at_ps,
                        original_len,
                        bytes,
                        dropped,
                        flags,
                        ..
                    } => content.packets.push((
                        interface,
                        at_ps,
                        original_len,
                        bytes.to_vec(),
                        dropped,
                        flags,
                    )),
                    Block::Statistics(statistics) => content.statistics.push(*statistics),
                    Block::Damaged(error) => content.damaged.push(error),
                    Block::Section(_) | Block::Other(_) | Block::Passed { .. } => {}
                }
                start += used;
                assert_eq!(reader.offset(), start as u64);
            }
            Err(error) => {
                content.error = Some(error);
                break;
            }
        }
    }
    assert!(content.error.is_some() || start == file.len());
    content
}

/// A block in either byte order; `body` is in that order already.
fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let number = |n: u32| {
        if order == Order::Big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        }
    };
    let pad = vec(options::padded(body.len()) - body.len());
    let length = number((12 + body.len() + pad.len()) as u32);
    [&number(kind)[..], &length, body, &pad, &length].concat()
}

fn vec(zeros: usize) -> Vec<u8> {
    core::iter::repeat_n(0, zeros).collect()
}

fn words(order: Order, words: &[u32]) -> Vec<u8> {
    let bytes = |w: &u32| {
        if order == Order::Big {
            w.to_be_bytes()
        } else {
            w.to_le_bytes()
        }
    };
    words.iter().flat_map(bytes).collect()
}

fn section(order: Order) -> Vec<u8> {
    let version = if order == Order::Big { 1 << 16 } else { 1 };
    block(
        order,
        pcapng::SECTION,
        &words(order, &[pcapng::ORDER, version, u32::MAX, u32::MAX]),
    )
}

fn interface(order: Order, snap_len: u32, options: &[u8]) -> Vec<u8> {
    let link = if order == Order::Big { 1 << 16 } else { 1 };
    block(
        order,
        pcapng::INTERFACE,
        &[&words(order, &[link, snap_len]), options].concat(),
    )
}

#[test]
fn pcap_reads_back_in_every_variant() {
    for writer in [PcapWriter::MICRO, PcapWriter::NANO] {
        let mut file = Vec::new();
        writer.header(ETHERNET, 0, &mut file);
        writer.packet(AT, &[1; 61], &mut file);
        writer.cut_packet(AT + 5_000_000, 1514, &[2; 60], &mut file);
        let mut swapped = file.clone();
        for (at, len) in [(0, 4), (4, 2), (6, 2), (16, 4), (20, 4)] {
            swapped[at..at + len].reverse();
        }
        for packet in [24, 24 + 16 + 61] {
            for at in [packet, packet + 4, packet + 8, packet + 12] {
                swapped[at..at + 4].reverse();
            }
        }
        let content = read(&file, 1);
        assert_eq!(content, read(&swapped, 7));
        assert_eq!(content.error, None);
        let at = if writer == PcapWriter::NANO {
            AT
        } else {
            AT / 1_000_000 * 1_000_000
        };
        assert_eq!(
            content.packets[0],
            (0, Some(at), 61, [1; 61].to_vec(), None, None)
        );
        assert_eq!(content.packets[1].1, Some(at + 5_000_000));
        assert_eq!(
            (content.packets[1].2, content.packets[1].3.len()),
            (1514, 60)
        );
    }
}

#[test]
fn pcap_frames_lose_the_fcs_that_the_header_declares() {
    let mut file = Vec::new();
    PcapWriter::NANO.header(ETHERNET, 0, &mut file);
    file[23] = 0x24;
    PcapWriter::NANO.packet(AT, &[1; 64], &mut file);
    PcapWriter::NANO.cut_packet(AT, 64, &[1; 62], &mut file);
    PcapWriter::NANO.cut_packet(AT, 64, &[1; 50], &mut file);
    let content = read(&file, 100);
    assert_eq!(content.interfaces[0].fcs_len, 4);
    let lengths: Vec<_> = content.packets.iter().map(|p| (p.2, p.3.len())).collect();
    assert_eq!(lengths, [(60, 60), (60, 60), (60, 50)]);
}

/// A pcap file of one packet of four bytes with these fields in its header.
fn pcap(order: Order, magic: u32, version: [u16; 2], lengths: [u32; 2], more: &[u8]) -> Vec<u8> {
    let mut file = words(order, &[magic]);
    for part in version {
        file.extend(match order {
            Order::Big => part.to_be_bytes(),
            Order::Little => part.to_le_bytes(),
        });
    }
    file.extend(words(order, &[0, 0, 99, 1, 7, 8]));
    file.extend(words(order, &lengths));
    [&file[..], more, b"abcd"].concat()
}

#[test]
fn every_version_of_pcap_has_its_lengths_where_it_has_them() {
    const MICRO: u32 = 0xA1B2_C3D4;
    for order in [Order::Big, Order::Little] {
        // Captured and original length, as each version has them; and a captured one beyond the
        // original.
        for (version, lengths, original) in [
            ([2, 4], [4, 60], 60),
            ([2, 4], [4, 3], 3),
            ([2, 3], [4, 60], 60),
            ([2, 3], [60, 4], 60),
            ([2, 2], [60, 4], 60),
            ([2, 2], [3, 4], 3),
            ([2, 1], [60, 4], 60),
            ([2, 0], [60, 4], 60),
            ([543, 0], [60, 4], 60),
        ] {
            let content = read(&pcap(order, MICRO, version, lengths, &[]), 3);
            let packet = (
                0,
                Some(7_000_008_000_000),
                original,
                b"abcd".to_vec(),
                None,
                None,
            );
            assert_eq!(content.packets, [packet], "{version:?} {lengths:?}");
        }
        // A modified header ends with the interface, the protocol and the kind of packet.
        let modified = pcap(order, 0xA1B2_CD34, [2, 4], [4, 60], &[9; 8]);
        for step in [1, 5, 100] {
            let content = read(&modified, step);
            let packet = (0, Some(7_000_008_000_000), 60, b"abcd".to_vec(), None, None);
            assert_eq!((content.packets, content.error), ([packet].into(), None));
        }
        for version in [[1, 4], [2, 5], [3, 0], [543, 1]] {
            let error = read(&pcap(order, MICRO, version, [4, 4], &[]), 9).error;
            let [major, minor] = version;
            let offset = 4;
            assert_eq!(
                error,
                Some(CaptureError::Version {
                    offset,
                    major,
                    minor
                })
            );
        }
    }
}

/// The blocks of a file that are no interfaces, packets or counters.
fn others(file: &[u8]) -> Vec<(u32, Option<PortableBlock>)> {
    let (mut reader, mut rest, mut others) = (Reader::default(), file, Vec::new());
    while let Ok(Step::Block { used, block }) = reader.next(rest, true) {
        if let Block::Other(other) = block {
            others.push((other.kind(), other.portable()));
        }
        rest = &rest[used..];
    }
    others
}

#[test]
fn names_secrets_and_custom_blocks_may_be_in_another_file() {
    let number = |order: Order, number: u16| match order {
        Order::Big => number.to_be_bytes(),
        Order::Little => number.to_le_bytes(),
    };
    let list = |order: Order, parts: &[(u16, &[u8])]| {
        let mut out = Vec::new();
        for (code, value) in parts {
            out.extend(number(order, *code));
            out.extend(number(order, value.len() as u16));
            out.extend_from_slice(value);
            out.resize(options::padded(out.len()), 0);
        }
        out.extend([0; 4]);
        out
    };
    let file = |order: Order| {
        let record: &[u8] = &[192, 0, 2, 1, b'h', b'o', b's', b't', 0];
        let names = [list(order, &[(1, record)]), list(order, &[(2, b"dns")])].concat();
        let mut secrets = words(order, &[0x544C_534B, 5]);
        secrets.extend(b"CLIEN\0\0\0");
        secrets.extend(list(order, &[(1, b"a comment")]));
        let custom = [words(order, &[32_473]), b"data of one's own".to_vec()].concat();
        let mut file = section(order);
        for (kind, body) in [
            (4, &names[..]),
            (10, &secrets),
            (0xBAD, &custom),
            (9, b"__REALTIME_TIMESTAMP=0\nMESSAGE=boot\n"),
            (9, b"MESSAGE=no time\n"),
            (0x4000_0BAD, &custom),
            (0x204, &[0; 8]),
        ] {
            file.extend(block(order, kind, body));
        }
        file
    };
    let (little, big) = (others(&file(Order::Little)), others(&file(Order::Big)));
    let kept: Vec<bool> = little.iter().map(|(_, block)| block.is_some()).collect();
    assert_eq!(kept, [true, true, true, true, false, false, false]);
    // A copy has what its file has, byte by byte.
    let mut copy = section(Order::Little);
    let writer = PcapngWriter::default();
    for portable in little.iter().filter_map(|(_, block)| block.as_ref()) {
        writer.other(portable, &mut copy);
    }
    assert_eq!(copy[..], file(Order::Little)[..copy.len()]);
    // Of the other byte order it is the same, but for custom data, whose byte order is not known.
    for (number, (one, other)) in little.iter().zip(&big).enumerate() {
        match number {
            2 => assert_eq!(other.1, None),
            _ => assert_eq!(one, other, "{number}"),
        }
    }
    // Cut short, a block is left, or has all records that are whole.
    let body = [0, 1, 0, 9, 192, 0, 2];
    assert_eq!(OtherBlock::of(4, &body, Order::Big).portable(), None);
    assert_eq!(
        OtherBlock::of(10, &[0; 7], Order::Big)
            .portable()
            .map(|b| b.kind()),
        None
    );
}

#[test]
fn pcapng_reads_back_what_was_written() {
    let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("wire", &mut file);
    let described = [
        Interface {
            name: "eth0".into(),
            description: "the uplink".into(),
            speed: 10_000_000_000,
            mac: Some([2, 0, 0, 0, 0, 1]),
            ..Interface::default()
        },
        Interface {
            resolution: Resolution::PICO,
            offset_s: 1_700_000_000,
            fcs_len: 4,
            ..Interface::default()
        },
    ];
    for (number, interface) in described.iter().enumerate() {
        assert_eq!(writer.interface(interface, &mut file), number as u32);
    }
    writer.packet(0, AT, &[1; 61], &mut file);
    writer.packet(1, AT + 7, &[2; 64], &mut file);
    let statistics = Statistics {
        interface: 1,
        at_ps: AT + 9,
        start_ps: Some(AT),
        end_ps: Some(AT + 8),
        received: Some(5),
        dropped: Some(1),
        accepted: Some(2),
        os_dropped: Some(3),
        delivered: Some(4),
        others: [(1, b"at the end".to_vec())].into(),
    };
    writer.statistics(&statistics, &mut file);
    for step in [1, 10, 1_000] {
        let content = read(&file, step);
        assert_eq!(content.error, None);
        assert_eq!(content.interfaces, described);
        assert_eq!(
            content.packets[0],
            (0, Some(AT), 61, [1; 61].to_vec(), None, None)
        );
        assert_eq!(
            content.packets[1],
            (1, Some(AT + 7), 60, [2; 60].to_vec(), None, None)
        );
        assert_eq!(content.statistics, core::slice::from_ref(&statistics));
    }
}

#[test]
fn sections_of_both_byte_orders_follow_each_other() {
    let mut file = Vec::new();
    for order in [Order::Big, Order::Little, Order::Big] {
        file.extend(section(order));
        file.extend(interface(order, 0, &[]));
        // A custom block, a name resolution block, and one that nobody knows.
        for kind in [0xBAD, 4, 0x8000_0001] {
            file.extend(block(order, kind, &[1, 2, 3, 4, 5]));
        }
        let body = words(order, &[0, 1, 2, 5, 99]);
        let options = match order {
            Order::Big => [0, 2, 0, 4, 0, 0, 0, 1, 0, 4, 0, 8, 0, 0, 0, 0, 0, 0, 0, 6],
            Order::Little => [2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 8, 0, 6, 0, 0, 0, 0, 0, 0, 0],
        };
        let body = [&body[..], b"12345\0\0\0", &options].concat();
        file.extend(block(order, pcapng::PACKET, &body));
    }
    let content = read(&file, 13);
    assert_eq!(content.error, None);
    assert_eq!(content.interfaces.len(), 3);
    let at = Some(((1 << 32) + 2) * 1_000_000);
    for (number, packet) in content.packets.iter().enumerate() {
        let wanted = (number as u32, at, 99, b"12345".to_vec(), Some(6), Some(1));
        assert_eq!(*packet, wanted);
    }
}

#[test]
fn resolution_and_offset_of_an_interface_move_its_stamps() {
    let order = Order::Little;
    // 2^-10 s, and minus one second.
    let options = [
        9, 0, 1, 0, 0x8A, 0, 0, 0, 14, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 255,
    ];
    let mut file = section(order);
    file.extend(interface(order, 0, &options));
    file.extend(block(
        order,
        pcapng::PACKET,
        &words(order, &[0, 0, 1024 + 512, 0, 0]),
    ));
    assert_eq!(read(&file, 99).packets[0].1, Some(500_000_000_000));
}

#[test]
fn old_and_simple_packets_are_read() {
    let order = Order::Big;
    let mut file = section(order);
    file.extend(interface(order, 6, &[]));
    // The obsolete form: 16 bits of interface, 16 of drops.
    let head = words(order, &[3, 0, 7, 4, 8]);
    file.extend(block(order, 2, &[&head[..], b"abcd"].concat()));
    file.extend(block(
        order,
        3,
        &[&words(order, &[4])[..], b"abcd"].concat(),
    ));
    file.extend(block(
        order,
        3,
        &[&words(order, &[9])[..], b"abcdef"].concat(),
    ));
    let content = read(&file, 5);
    assert_eq!(
        content.packets[0],
        (0, Some(7_000_000), 8, b"abcd".to_vec(), Some(3), None)
    );
    assert_eq!(
        content.packets[1],
        (0, None, 4, b"abcd".to_vec(), None, None)
    );
    assert_eq!(
        content.packets[2],
        (0, None, 9, b"abcdef".to_vec(), None, None)
    );
}

#[test]
fn a_block_without_sense_is_skipped_and_told() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(block(order, 3, &[4, 0, 0, 0]));
    file.extend(interface(order, 0, &[]));
    file.extend(block(
        order,
        pcapng::PACKET,
        &words(order, &[1, 0, 7, 0, 0]),
    ));
    file.extend(block(
        order,
        pcapng::PACKET,
        &words(order, &[0, 0, 7, 4, 4]),
    ));
    file.extend(block(order, pcapng::PACKET, &words(order, &[0])));
    file.extend(block(order, pcapng::STATISTICS, &words(order, &[4, 0, 0])));
    file.extend(block(order, pcapng::STATISTICS, &[]));
    file.extend(block(
        order,
        pcapng::PACKET,
        &words(order, &[0, 0, 7, 0, 0]),
    ));
    let content = read(&file, 50);
    assert_eq!(
        (content.packets.len(), content.damaged.len(), content.error),
        (1, 6, None)
    );
    assert_eq!(
        content.damaged[1].to_string(),
        "byte 64: a packet of an interface that was not described; it was skipped"
    );
}

#[test]
fn every_truncation_gives_all_whole_packets_and_says_so() {
    let (mut pcap, mut pcapng, mut writer) = (Vec::new(), Vec::new(), PcapngWriter::default());
    PcapWriter::NANO.header(ETHERNET, 0, &mut pcap);
    writer.header("", &mut pcapng);
    writer.interface(&Interface::default(), &mut pcapng);
    let (mut pcap_ends, mut pcapng_ends) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        PcapWriter::NANO.packet(AT, &[1; 60], &mut pcap);
        writer.packet(0, AT, &[1; 60], &mut pcapng);
        pcap_ends.push(pcap.len());
        pcapng_ends.push(pcapng.len());
    }
    for (file, ends, heads) in [(pcap, pcap_ends, [24, 24]), (pcapng, pcapng_ends, [28, 60])] {
        for len in 1..file.len() {
            let content = read(&file[..len], 20);
            let whole = ends.iter().filter(|&&end| end <= len).count();
            assert_eq!(content.packets.len(), whole);
            let clean = ends.contains(&len) || heads.contains(&len);
            assert_eq!(content.error.is_none(), clean, "{len}");
            if let Some(error) = content.error {
                assert!(matches!(error, CaptureError::Truncated { .. }), "{error}");
            }
        }
    }
}

#[test]
fn a_long_block_of_no_interest_passes_without_a_buffer() {
    let order = Order::Little;
    let long = MAX_BLOCK_LEN + 100;
    let mut file = section(order);
    file.extend(block(order, 0xBAD, &vec(long)));
    file.extend(interface(order, 0, &[]));
    assert_eq!(read(&file, 4096).interfaces.len(), 1);
    let cut = read(&file[..MAX_BLOCK_LEN], 4096).error;
    assert!(matches!(cut, Some(CaptureError::Truncated { .. })));
    let mut packet = section(order);
    packet.extend(block(order, pcapng::PACKET, &vec(long)));
    let error = read(&packet, 4096).error.unwrap();
    assert_eq!(
        error.to_string(),
        "byte 28: a block of 16777328 bytes is beyond the limit of 16777216; the file is damaged \
         from here on, cut it off with `head -c 28`"
    );
}

#[test]
fn damage_is_told_with_its_place() {
    let order = Order::Little;
    let mut lengths = section(order);
    lengths[24] = 32;
    assert_eq!(
        read(&lengths, 9).error,
        Some(CaptureError::Ends {
            offset: 0,
            length: 28,
            last: 32
        })
    );
    let mut short = section(order);
    short.extend(words(order, &[6, 8, 8]));
    assert_eq!(
        read(&short, 9).error,
        Some(CaptureError::Length {
            offset: 28,
            length: 8
        })
    );
    let mut odd = section(order);
    odd.extend(words(order, &[6, 13, 8, 0]));
    assert!(matches!(
        read(&odd, 9).error,
        Some(CaptureError::Length { offset: 28, .. })
    ));
    let mut magic = section(order);
    magic[8] = 0;
    assert!(matches!(
        read(&magic, 9).error,
        Some(CaptureError::Order { offset: 0, .. })
    ));
    let mut version = section(order);
    version[12] = 2;
    let error = CaptureError::Version {
        offset: 12,
        major: 2,
        minor: 0,
    };
    assert_eq!(read(&version, 9).error, Some(error));
    assert_eq!(
        read(b"#!/bin/sh", 9).error,
        Some(CaptureError::Unknown(0x2321_2F62))
    );
    assert!(matches!(
        read(b"\x0A\x0D", 9).error,
        Some(CaptureError::Truncated { missing: 22, .. })
    ));
    let mut pcap = Vec::new();
    PcapWriter::MICRO.header(ETHERNET, 0, &mut pcap);
    pcap.extend(words(order, &[0, 0, u32::MAX, 0]));
    assert!(matches!(
        read(&pcap, 9).error,
        Some(CaptureError::TooLong { offset: 24, .. })
    ));
}

#[test]
fn options_that_do_not_end_make_an_interface_worthless() {
    let order = Order::Little;
    for options in [&[9, 0, 9, 0, 9, 0, 0, 0][..], &[9, 0, 255, 255]] {
        let mut file = section(order);
        file.extend(interface(order, 0, options));
        let error = read(&file, 9).error.unwrap().to_string();
        assert!(
            error.starts_with("byte 28: an interface's options do not end"),
            "{error}"
        );
    }
    for options in [
        &[][..],
        &[0, 0, 0, 0],
        &[9, 0, 1, 0, 9, 0, 0, 0],
        &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let mut file = section(order);
        file.extend(interface(order, 0, options));
        assert_eq!(read(&file, 9).error, None);
    }
}

proptest::proptest! {
    #[test]
    fn whatever_is_written_reads_back(
        units: Vec<(u64, Vec<u8>, u32)>, digits in 0..=12u8, offset_s in 0..4_000_000_000i64, name: alloc::string::String,
    ) {
        let resolution = Resolution::from_byte(digits);
        let described = Interface { resolution, offset_s, name, ..Interface::default() };
        let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
        writer.header("", &mut file);
        writer.interface(&described, &mut file);
        let mut wanted = Vec::new();
        for (units, bytes, more) in units {
            let (at, length) = (resolution.to_ps(units, offset_s), bytes.len() as u32);
            // Mostly longer than what is there, but not always.
            let original_len = if more % 5 == 0 { more } else { length.saturating_add(more) };
            writer.cut_packet(0, at, original_len, &bytes, &mut file);
            wanted.push((0, Some(at), original_len, bytes, None, None));
        }
        let content = read(&file, 100);
        proptest::prop_assert_eq!(content.packets, wanted);
        proptest::prop_assert_eq!(content.interfaces[0].name.trim_end_matches('\0'), described.name.trim_end_matches('\0'));
        proptest::prop_assert_eq!(content.error, None);
    }
}

#[test]
fn an_empty_file_holds_nothing() {
    assert_eq!(read(&[], 1), Content::default());
}
