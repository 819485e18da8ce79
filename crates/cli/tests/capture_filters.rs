//! Filters of captures: link types, lengths, directions.

use crate::shell::{Ended, Place};

/// A capture in the older format, of a link type: packets, each with its length on the wire.
fn pcap(link_type: u32, big_endian: bool, packets: &[(&[u8], u32)]) -> Vec<u8> {
    let number = |number: u32| match big_endian {
        true => number.to_be_bytes(),
        false => number.to_le_bytes(),
    };
    let version: [u8; 4] = if big_endian {
        [0, 2, 0, 4]
    } else {
        [2, 0, 4, 0]
    };
    let mut file = [number(0xA1B2_C3D4), version, [0; 4], [0; 4]].concat();
    file.extend([number(262_144), number(link_type)].concat());
    for (nth, (bytes, length)) in packets.iter().enumerate() {
        let captured = bytes.len() as u32;
        file.extend([nth as u32 + 1, 0, captured, *length].map(number).concat());
        file.extend_from_slice(bytes);
    }
    file
}

/// An IPv4 packet of UDP to a port.
fn datagram(port: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 3, 0xE8, 0, port, 0, 12, 0, 0]);
    packet.extend(b"abcd");
    packet
}

/// Output of a script that succeeded and may have printed notes.
fn found(ended: Ended) -> String {
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.out
}

/// Whether libpcap is here, which filters need.
fn has_libpcap(place: &Place) -> bool {
    let ended = place.run("wire cat --filter ip </dev/null");
    let is_missing = ended.err.contains("needs libpcap");
    if is_missing {
        println!("skipped: {}", ended.err);
    }
    !is_missing
}

#[test]
fn a_filter_asks_for_the_length_on_the_wire() {
    let place = Place::new("filter-length");
    if !has_libpcap(&place) {
        return;
    }
    let frame = [
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..],
        &datagram(53),
    ]
    .concat();
    place.write(
        "cut.pcap",
        pcap(1, false, &[(&frame, 46), (&frame, 1_000), (&frame, 100)]),
    );
    for (filter, count) in [
        ("len > 46", 2),
        ("greater 1000", 1),
        ("less 100", 2),
        ("len = 100 and port 53", 1),
    ] {
        for script in [
            format!("wire cat cut.pcap --filter '{filter}' | wc -l"),
            format!("wire dump cut.pcap --filter '{filter}' | wire cat | wc -l"),
        ] {
            let ended = place.run(&script);
            assert_eq!(
                ended.out.trim(),
                count.to_string(),
                "{script}: {}",
                ended.err
            );
        }
        let objects = place.run(&format!("wire cat cut.pcap -f '{filter}' --json"));
        let told = objects.out.matches(r#""length":46"#).count();
        assert_eq!(told, count, "{}", objects.out);
    }
    let told = place.run("wire cat cut.pcap --json");
    assert!(
        told.out.contains(r#""length":46,"original_length":1000"#),
        "{}",
        told.out
    );
    assert_eq!(told.out.matches("original_length").count(), 2);
    // And back, with the length.
    let back = place.run("wire cat cut.pcap --json | wire dump --from json -o back.pcapng; wire cat back.pcapng --filter 'len = 1000' --text");
    assert!(
        back.out
            .contains(" 46 of 1000 bytes: 10.0.0.1:1000 > 10.0.0.2:53 UDP"),
        "{}",
        back.out
    );
}

#[test]
fn a_filter_looks_at_packets_of_their_own_link_type() {
    let place = Place::new("filter-links");
    if !has_libpcap(&place) {
        return;
    }
    let ip = datagram(53);
    for number in [12, 14, 101, 228] {
        place.write("raw.pcap", pcap(number, false, &[(&ip, 32), (&ip, 32)]));
        let shown =
            place.run("wire dump raw.pcap --filter 'udp port 53 and ip[9] = 17' | wire cat --text");
        assert_eq!(
            found(shown).matches("10.0.0.2:53 UDP").count(),
            2,
            "{number}"
        );
        for command in ["cat", "dump", "profile", "flows"] {
            let refused = place.run(&format!(
                "wire {command} raw.pcap --filter 'ether host 2:0:0:0:0:1' >/dev/null"
            ));
            assert_eq!(refused.code, Some(2), "{command}: {}", refused.err);
            assert!(
                refused.err.contains("link type") && refused.err.contains("ethernet addresses"),
                "{}",
                refused.err
            );
        }
    }
    for big_endian in [false, true] {
        let family = if big_endian {
            [0, 0, 0, 2]
        } else {
            [2, 0, 0, 0]
        };
        let packet = [&family[..], &ip].concat();
        place.write("null.pcap", pcap(0, big_endian, &[(&packet, 36)]));
        let shown = place.run("wire cat null.pcap --filter 'udp port 53 and len = 36' --text");
        assert_eq!(found(shown).lines().count(), 1);
        // A copy is little-endian, and means the same.
        let copied = place.run("wire dump null.pcap -o copy.pcapng && wire cat copy.pcapng --filter 'udp port 53 and link[0] = 2' --text");
        assert_eq!(found(copied).lines().count(), 1);
    }
}

#[test]
fn a_direction_is_asked_for_where_there_is_one() {
    let place = Place::new("filter-direction");
    if !has_libpcap(&place) {
        return;
    }
    let cooked = |direction: u8, protocol: [u8; 2]| {
        let header = [
            &protocol[..],
            &[0, 0, 0, 0, 0, 3, 0, 1, direction, 6, 2, 0, 0, 0, 0, 1, 0, 0],
        ];
        [&header.concat()[..], &datagram(53)].concat()
    };
    let ip = [8, 0];
    // The last has a protocol of which no Ethernet frame can be made.
    let packets = [
        cooked(0, ip),
        cooked(4, ip),
        cooked(2, ip),
        cooked(4, [0, 0x0C]),
    ];
    let packets = packets.each_ref().map(|packet| (&packet[..], 52));
    place.write("sll2.pcap", pcap(276, false, &packets));
    let count = |filter: &str| {
        let script = format!(
            "wire dump sll2.pcap --filter '{filter}' -o some.pcap --pcap && tail -c +25 some.pcap | wc -c"
        );
        found(place.run(&script)).trim().parse::<usize>().unwrap() / (16 + 52)
    };
    assert_eq!(
        (count("outbound"), count("inbound"), count("not ip")),
        (2, 2, 1)
    );
    // It cannot be a line, which is reported.
    let lines = place.run("wire cat sll2.pcap --filter outbound");
    assert_eq!((lines.code, lines.out.lines().count()), (Some(1), 1));
    assert!(
        lines.err.contains("no Ethernet frame can be made"),
        "{}",
        lines.err
    );

    let frame = [
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..],
        &datagram(53),
    ]
    .concat();
    place.write("plain.pcap", pcap(1, false, &[(&frame, 46)]));
    for filter in ["inbound", "outbound or arp", "ifindex 1"] {
        let refused = place.run(&format!("wire cat plain.pcap --filter '{filter}'"));
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("not known"), "{}", refused.err);
    }
}

#[test]
fn a_broadcast_needs_a_mask_and_a_chain_of_headers_none() {
    let place = Place::new("filter-mask");
    if !has_libpcap(&place) {
        return;
    }
    let mut to_all = datagram(53);
    to_all[16..20].copy_from_slice(&[10, 0, 0, 255]);
    place.write(
        "raw.pcap",
        pcap(101, false, &[(&to_all, 32), (&datagram(53), 32)]),
    );
    let refused = place.run("wire cat raw.pcap --filter 'ip broadcast'");
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("--netmask 255.255.255.0"),
        "{}",
        refused.err
    );
    for (mask, count) in [("255.255.255.0", 1), ("/24", 1), ("/16", 0)] {
        let shown = place.run(&format!(
            "wire cat raw.pcap --filter 'ip broadcast' --netmask {mask}"
        ));
        assert_eq!(found(shown).lines().count(), count, "{mask}");
    }
    let mut options = vec![0x60, 0, 0, 0, 0, 16, 60, 64];
    options.extend([[0xFD; 16], [0xFE; 16]].concat());
    options.extend([17, 0, 1, 4, 0, 0, 0, 0, 3, 0xE8, 0, 53, 0, 8, 0, 0]);
    place.write("chain.pcap", pcap(101, false, &[(&options, 56)]));
    for (filter, count) in [
        ("ip6 protochain 17", 1),
        ("ip6 protochain 6", 0),
        ("ip6 proto 17", 0),
    ] {
        let shown = place.run(&format!("wire cat chain.pcap --filter '{filter}'"));
        assert_eq!(found(shown).lines().count(), count, "{filter}");
    }
}

#[test]
fn a_filter_is_compiled_before_a_command_gives_up_its_rights() {
    let place = Place::new("filter-confined");
    if !has_libpcap(&place) {
        return;
    }
    let ip = datagram(53);
    place.write("raw.pcap", pcap(101, false, &[(&ip, 32)]));
    // The names of a host and a service.
    for filter in ["udp port 53", "udp port domain or host localhost"] {
        for command in [
            "match proto=17 --file raw.pcap",
            "cat raw.pcap",
            "cut dport raw.pcap",
            "flows raw.pcap",
            "profile raw.pcap",
            "undump raw.pcap",
            "gen --replay raw.pcap",
            "gen --dry --replay raw.pcap",
            "phy encode raw.pcap -o out",
            "covert decode raw.pcap",
            "relay train raw.pcap -o out",
        ] {
            let ended = place.run(&format!("wire {command} --filter '{filter}' >/dev/null"));
            assert!(
                !ended.err.contains("system call"),
                "{command}: {}",
                ended.err
            );
            assert!(
                !ended.err.contains("unexpected argument"),
                "{command}: {}",
                ended.err
            );
        }
    }
}
