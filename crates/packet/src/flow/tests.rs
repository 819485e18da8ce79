use super::*;
use std::string::ToString;
use std::vec::Vec;

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn ipv4(protocol: u8, fragment: u16, options: usize) -> Vec<u8> {
    let mut packet = Vec::from([0x08, 0x00, 0x45 + options as u8, 0, 0, 40, 0, 0]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.resize(packet.len() + options * 4, 1);
    packet.extend([0, 53, 0, 53, 9, 9, 9, 9]);
    packet
}

/// From its EtherType to the end, with extension headers given as (number, whole header).
fn ipv6(extensions: &[(u8, &[u8])], last: u8) -> Vec<u8> {
    let numbers = extensions.iter().map(|(number, _)| *number).chain([last]);
    let numbers: Vec<u8> = numbers.collect();
    let mut packet = Vec::from([0x86, 0xDD, 0x60, 0, 0, 0, 0, 8, numbers[0], 64]);
    for host in [1, 2] {
        packet.extend([
            0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host,
        ]);
    }
    for (index, (_, header)) in extensions.iter().enumerate() {
        packet.push(numbers[index + 1]);
        packet.extend(&header[1..]);
    }
    packet.extend([0, 53, 0, 53, 9, 9, 9, 9]);
    packet
}

fn frame(tags: &[u8], packet: &[u8]) -> Vec<u8> {
    [&MACS, tags, packet].concat()
}

fn tuple(source: &str, destination: &str, protocol: u8, ports: (u16, u16)) -> FiveTuple {
    FiveTuple {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        protocol,
        source_port: ports.0,
        destination_port: ports.1,
    }
}

/// The sums were made by a bit-at-a-time CRC-32C outside this project; the table also stands in
/// docs/decisions/0004-five-tuple-hash.md, for RTL and scripts.
#[test]
fn known_tuples_have_their_published_hash() {
    for (source, destination, protocol, ports, sum) in [
        (
            "66.9.149.187",
            "161.142.100.80",
            6,
            (2794, 1766),
            0x1CCA_C02C,
        ),
        (
            "199.92.111.2",
            "65.69.140.83",
            17,
            (14230, 4739),
            0x9190_467B,
        ),
        ("10.0.0.1", "10.0.0.2", 17, (53, 53), 0x03E2_704F),
        ("10.0.0.1", "10.0.0.2", 1, (0, 0), 0x23AB_FCCB),
        ("10.0.0.1", "10.0.0.2", 17, (0, 0), 0xAC89_9D18),
        ("0.0.0.0", "255.255.255.255", 17, (68, 67), 0x44E2_F64C),
        (
            "3ffe:2501:200:1fff::7",
            "3ffe:2501:200:3::1",
            6,
            (2794, 1766),
            0xFEBA_3C7A,
        ),
        ("fe80::1", "ff02::1", 58, (0, 0), 0x5F89_62EF),
        ("2001:db8::1", "2001:db8::2", 17, (53, 53), 0x7B50_7D1B),
        ("2001:db8::1", "2001:db8::2", 17, (0, 0), 0xD43B_904C),
    ] {
        let tuple = tuple(source, destination, protocol, ports);
        assert_eq!(tuple.hash(), sum, "{tuple}");
    }
}

#[test]
fn tags_and_options_do_not_change_a_tuple() {
    let wanted = tuple("10.0.0.1", "10.0.0.2", 17, (53, 53));
    let tagged: [&[u8]; 4] = [
        &[],
        &[0x81, 0, 0, 5],
        &[0x88, 0xA8, 0, 5, 0x81, 0, 0, 6],
        &[0x91, 0, 0, 5, 0x91, 0, 0, 5, 0x81, 0, 0, 5, 0x81, 0, 0, 6],
    ];
    for tags in tagged {
        for options in 0..=10 {
            let frame = frame(tags, &ipv4(17, 0x4000, options));
            assert_eq!(five_tuple(&frame), Some(wanted));
            assert_eq!(hash(&frame), 0x03E2_704F);
        }
    }
    let fifth = frame(&[0x81, 0, 0, 1].repeat(5), &ipv4(17, 0, 0));
    assert_eq!((five_tuple(&fifth), hash(&fifth)), (None, 0));
}

#[test]
fn only_the_first_fragment_has_ports() {
    let without = tuple("10.0.0.1", "10.0.0.2", 17, (0, 0));
    for (fragment, first) in [
        (0x2000, true),
        (0x2001, false),
        (0x00B9, false),
        (0x1FFF, false),
    ] {
        let found = five_tuple(&frame(&[], &ipv4(17, fragment, 0))).unwrap();
        let wanted = FiveTuple {
            source_port: 53,
            destination_port: 53,
            ..without
        };
        assert_eq!(
            found,
            if first { wanted } else { without },
            "{fragment:04X}"
        );
    }
    for (offset, first) in [([0, 1], true), ([0, 8], false), ([5, 0], false)] {
        let header = [0, 0, offset[0], offset[1], 1, 2, 3, 4];
        let packet = frame(&[], &ipv6(&[(44, &header)], 17));
        assert_eq!(hash(&packet), if first { 0x7B50_7D1B } else { 0xD43B_904C });
    }
}

#[test]
fn extension_headers_are_walked_to_their_end() {
    let options = [0u8; 16].map(|_| 1);
    let options = [&[0, 1], &options[2..]].concat();
    let authentication = [0u8, 4].iter().copied().chain([7; 22]).collect::<Vec<u8>>();
    let every: [(u8, &[u8]); 8] = [
        (0, &options),
        (60, &options),
        (43, &options),
        (44, &[0; 8]),
        (51, &authentication),
        (135, &options),
        (139, &options),
        (140, &options),
    ];
    for count in 0..=8 {
        assert_eq!(
            hash(&frame(&[], &ipv6(&every[..count], 17))),
            0x7B50_7D1B,
            "{count} headers"
        );
    }
    let nine = [&every[..], &[(60, &options[..])]].concat();
    let found = five_tuple(&frame(&[], &ipv6(&nine, 17))).unwrap();
    assert_eq!((found.protocol, found.source_port), (60, 0));
}

#[test]
fn other_protocols_have_no_ports() {
    for protocol in 0..=255 {
        let found = five_tuple(&frame(&[], &ipv4(protocol, 0, 0))).unwrap();
        let has = matches!(protocol, 6 | 17 | 33 | 132 | 136);
        assert_eq!(
            (found.source_port, found.destination_port),
            if has { (53, 53) } else { (0, 0) }
        );
        assert_eq!(found.hash(), hash(&frame(&[], &ipv4(protocol, 0, 0))));
    }
}

#[test]
fn what_is_not_ip_hashes_to_zero() {
    for packet in [
        &[0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1][..],
        &[
            0x08, 0x00, 0x65, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9,
            9,
        ],
        &[
            0x08, 0x00, 0x44, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9,
            9,
        ],
        &[
            0x08, 0x00, 0x4F, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9,
            9,
        ],
        &[0x88, 0x47, 0, 1, 1, 64, 0x45],
        &[0x00, 0x26, 0x42, 0x42, 3],
    ] {
        let frame = frame(&[], packet);
        assert_eq!((five_tuple(&frame), hash(&frame)), (None, 0));
    }
}

#[test]
fn every_truncation_has_a_hash_and_agrees_with_its_tuple() {
    let authentication = [0u8, 4].iter().copied().chain([7; 22]).collect::<Vec<u8>>();
    let header = [0u8; 8];
    let six = ipv6(&[(0, &header), (51, &authentication), (44, &header)], 6);
    for packet in [ipv4(6, 0, 0), ipv4(6, 0, 3), six] {
        for tags in [&[][..], &[0x81, 0, 0, 5]] {
            let whole = frame(tags, &packet);
            for len in 0..=whole.len() {
                let tuple = five_tuple(&whole[..len]);
                assert_eq!(
                    tuple.map_or(0, |t| t.hash()),
                    hash(&whole[..len]),
                    "{len} bytes"
                );
            }
        }
    }
}

#[test]
fn tuples_read_well() {
    let six = tuple("2001:db8::1", "2001:db8::2", 6, (80, 1234));
    assert_eq!(
        six.to_string(),
        "[2001:db8::1]:80 > [2001:db8::2]:1234 protocol 6"
    );
}
