//! Captures of real tools are read as those tools and `pcap-parser` read them, and what is written
//! is read back by them. testdata/captures/README.md says how each file was made.

use packet::capture::{
    Block, CaptureError, ETHERNET, Interface, PcapWriter, PcapngWriter, Reader, Resolution,
    Statistics, Step,
};
use std::path::{Path, PathBuf};
use std::process::Command;

const SECOND: u128 = 1_000_000_000_000;

/// Stamp, original length, bytes.
type Captured = (Option<u128>, u32, Vec<u8>);

#[derive(Default)]
struct Content {
    interfaces: Vec<Interface>,
    packets: Vec<Captured>,
    statistics: Vec<Statistics>,
    damaged: Vec<CaptureError>,
    error: Option<CaptureError>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/captures")
}

fn read(file: &[u8]) -> Content {
    let (mut reader, mut content, mut rest) = (Reader::default(), Content::default(), file);
    loop {
        match reader.next(rest, true) {
            Ok(Step::More) => return content,
            Ok(Step::Block { used, block }) => {
                rest = &rest[used..];
                match block {
                    Block::Interface(interface) => content.interfaces.push(*interface),
                    Block::Packet {
                        at_ps,
                        original_len,
                        bytes,
                        ..
                    } => {
                        content.packets.push((at_ps, original_len, bytes.to_vec()));
                    }
                    Block::Statistics(statistics) => content.statistics.push(*statistics),
                    Block::Damaged(error) => content.damaged.push(error),
                    Block::Section(_) | Block::Other(_) | Block::Passed { .. } => {}
                }
            }
            Err(error) => {
                content.error = Some(error);
                return content;
            }
        }
    }
}

fn load(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

const WHOLE: [&str; 10] = [
    "nano.pcap",
    "micro.pcap",
    "nano-big-endian.pcap",
    "micro-big-endian.pcap",
    "cut-60.pcap",
    "comment.pcapng",
    "two-interfaces.pcapng",
    "two-sections.pcapng",
    "tunnels.pcapng",
    "written.pcapng",
];

/// A file of [`WHOLE`]; the last is not stored but made by our own writer.
fn whole(name: &str) -> Vec<u8> {
    if name != "written.pcapng" {
        return load(name);
    }
    let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("wire", &mut file);
    let described = [
        Interface {
            name: "first".into(),
            description: "with nanoseconds".into(),
            speed: 10_000_000_000,
            mac: Some([2, 0, 0, 0, 0, 1]),
            ..Interface::default()
        },
        Interface {
            name: "second".into(),
            resolution: Resolution::PICO,
            offset_s: 1_700_000_000,
            ..Interface::default()
        },
    ];
    for interface in &described {
        writer.interface(interface, &mut file);
    }
    for (index, (_, original_len, bytes)) in read(&load("nano.pcap")).packets.iter().enumerate() {
        let at_ps = 1_700_000_000 * SECOND + index as u128 * 67_200;
        writer.cut_packet(index as u32 % 2, at_ps, *original_len, bytes, &mut file);
    }
    let statistics = Statistics {
        at_ps: 1_700_000_001 * SECOND,
        start_ps: Some(1_700_000_000 * SECOND),
        end_ps: Some(1_700_000_001 * SECOND),
        received: Some(23),
        dropped: Some(4),
        ..Statistics::default()
    };
    writer.statistics(&statistics, &mut file);
    file
}

/// Whether a tool is here; says so where it is not.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {tool} is not installed (Debian: tshark, tcpdump)");
    }
    found
}

/// A file for a tool to read, removed when done with.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let path = std::env::temp_dir().join(format!("wireline-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a tool prints on standard output, each line apart.
fn ask(tool: &str, arguments: &[&str], file: &Path) -> Vec<String> {
    let output = Command::new(tool)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{tool}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn whole_files_are_read_without_complaint() {
    for name in WHOLE {
        let content = read(&whole(name));
        assert_eq!((content.error, content.damaged.len()), (None, 0), "{name}");
        assert!(
            !content.packets.is_empty() && !content.interfaces.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn byte_orders_resolutions_and_conversions_agree() {
    let nano = read(&load("nano.pcap")).packets;
    assert_eq!(read(&load("nano-big-endian.pcap")).packets, nano);
    let micro = read(&load("micro.pcap")).packets;
    assert_eq!(read(&load("micro-big-endian.pcap")).packets, micro);
    let cut = read(&load("cut-60.pcap")).packets;
    assert_eq!(read(&load("comment.pcapng")).packets, nano);
    assert_eq!(nano.len(), cut.len());
    for ((nano, micro), cut) in nano.iter().zip(&micro).zip(&cut) {
        assert_eq!(micro.0, nano.0.map(|at| at / 1_000_000 * 1_000_000));
        assert_eq!(micro.2, nano.2);
        assert_eq!((cut.0, cut.1), (nano.0, nano.1));
        assert_eq!(cut.2, nano.2[..nano.2.len().min(60)]);
    }
}

#[test]
fn what_dumpcap_says_about_its_interfaces_is_read() {
    let content = read(&load("two-interfaces.pcapng"));
    let names: Vec<_> = content
        .interfaces
        .iter()
        .map(|i| (&*i.name, &*i.description))
        .collect();
    assert_eq!(names, [("wlv0", ""), ("lo", "Loopback")]);
    assert!(
        content
            .interfaces
            .iter()
            .all(|i| i.resolution == Resolution::NANO)
    );
    assert_eq!(content.statistics.len(), 2);
    for statistics in &content.statistics {
        assert_eq!(statistics.dropped, Some(0));
        // This version of dumpcap writes microseconds here, whatever the interface's resolution.
        let (start, end) = (
            statistics.start_ps.unwrap() * 1_000,
            statistics.end_ps.unwrap() * 1_000,
        );
        assert!(start < end && end <= statistics.at_ps * 1_000);
        assert!(
            content
                .packets
                .iter()
                .all(|p| (start..=end).contains(&p.0.unwrap()))
        );
    }
    let both = read(&load("two-sections.pcapng"));
    assert_eq!((both.interfaces.len(), both.statistics.len()), (3, 2));
}

#[test]
fn pcap_parser_reads_the_same_packets() {
    for name in WHOLE {
        let file = whole(name);
        assert_eq!(read(&file).packets, peer(&file), "{name}");
    }
}

/// The packets as `pcap-parser` gives them, with stamps worked out here from its raw fields.
fn peer(file: &[u8]) -> Vec<Captured> {
    use pcap_parser::{Block as Ng, PcapBlockOwned, PcapError};
    let mut packets = Vec::new();
    let (mut interfaces, mut unit) = (Vec::new(), 0);
    let mut reader = pcap_parser::create_reader(1 << 20, file).unwrap();
    loop {
        let used = match reader.next() {
            Ok((used, block)) => {
                match block {
                    PcapBlockOwned::LegacyHeader(header) => {
                        unit = if header.is_nanosecond_precision() {
                            1_000
                        } else {
                            1_000_000
                        };
                    }
                    PcapBlockOwned::Legacy(packet) => {
                        let at =
                            u128::from(packet.ts_sec) * SECOND + u128::from(packet.ts_usec) * unit;
                        packets.push((Some(at), packet.origlen, packet.data.to_vec()));
                    }
                    PcapBlockOwned::NG(Ng::SectionHeader(_)) => interfaces.clear(),
                    PcapBlockOwned::NG(Ng::InterfaceDescription(interface)) => {
                        interfaces.push((interface.if_tsresol, interface.if_tsoffset));
                    }
                    PcapBlockOwned::NG(Ng::EnhancedPacket(packet)) => {
                        let (resolution, offset) = interfaces[packet.if_id as usize];
                        let units = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                        let at = units * 10u128.pow(12 - u32::from(resolution));
                        let at = at + offset as u128 * SECOND;
                        let bytes = packet.data[..packet.caplen as usize].to_vec();
                        packets.push((Some(at), packet.origlen, bytes));
                    }
                    PcapBlockOwned::NG(_) => {}
                }
                used
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => {
                reader.refill().unwrap();
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        reader.consume(used);
    }
}

#[test]
fn tshark_reads_the_same_packets() {
    if !has("tshark") {
        return;
    }
    for name in WHOLE {
        let file = whole(name);
        let scratch = Scratch::new(name, &file);
        let fields = [
            "-n",
            "-T",
            "fields",
            "-e",
            "frame.time_epoch",
            "-e",
            "frame.len",
        ];
        let fields = [&fields[..], &["-e", "frame.cap_len", "-r"]].concat();
        let wanted: Vec<String> = read(&file)
            .packets
            .iter()
            .map(|(at, original, bytes)| {
                let (s, ns) = (at.unwrap() / SECOND, at.unwrap() % SECOND / 1_000);
                format!("{s}.{ns:09}\t{original}\t{}", bytes.len())
            })
            .collect();
        assert_eq!(ask("tshark", &fields, &scratch.0), wanted, "{name}");
    }
}

#[test]
fn capinfos_finds_what_was_written() {
    if !has("capinfos") {
        return;
    }
    let scratch = Scratch::new("capinfos.pcapng", &whole("written.pcapng"));
    let told = ask("capinfos", &[], &scratch.0).join("\n");
    for wanted in [
        "pcapng",
        "Capture application: wire",
        "Number of interfaces in file: 2",
        "Name = first",
        "Description = with nanoseconds",
        "Speed = 10000000000",
        "Time precision = nanoseconds (9)",
        "Name = second",
        "Time resolution = 0x0c",
        "Number of stat entries = 1",
        "Strict time order:   True",
    ] {
        assert!(told.contains(wanted), "no `{wanted}` in:\n{told}");
    }
}

#[test]
fn tcpdump_reads_written_pcap() {
    if !has("tcpdump") {
        return;
    }
    let packets = read(&load("nano.pcap")).packets;
    for writer in [PcapWriter::NANO, PcapWriter::MICRO] {
        let mut file = Vec::new();
        writer.header(ETHERNET, 0, &mut file);
        for (at, original_len, bytes) in &packets {
            writer.cut_packet(at.unwrap(), *original_len, bytes, &mut file);
        }
        let stored = if writer == PcapWriter::NANO {
            "nano.pcap"
        } else {
            "micro.pcap"
        };
        assert_eq!(read(&file).packets, read(&load(stored)).packets);
        let scratch = Scratch::new("tcpdump.pcap", &file);
        let arguments = ["-n", "-tt", "--time-stamp-precision=nano", "-r"];
        let told = ask("tcpdump", &arguments, &scratch.0);
        let told = told
            .iter()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let stored = ask("tcpdump", &arguments, &folder().join(stored));
        let stored = stored
            .iter()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        assert!(told.eq(stored));
    }
}

#[test]
fn damaged_files_give_what_is_good_and_name_the_place() {
    let bytes = load("two-interfaces.pcapng");
    let good = read(&bytes).packets;
    for (name, packets, damaged, told) in [
        (
            "truncated.pcap",
            45,
            0,
            "the file ends within its last packet, 7 or more bytes early",
        ),
        (
            "truncated.pcapng",
            5,
            0,
            "the file ends within its last block",
        ),
        (
            "empty-header.pcap",
            0,
            0,
            "byte 0: the file ends within its last header, 14 or more",
        ),
        (
            "version.pcap",
            0,
            0,
            "byte 4: version 7.4 of the format is not known",
        ),
        (
            "long-packet.pcap",
            0,
            0,
            "byte 24: a packet of 4294967280 bytes is beyond the limit",
        ),
        (
            "interface.pcapng",
            5,
            1,
            "a packet of an interface that was not described",
        ),
        (
            "captured-length.pcapng",
            5,
            1,
            "a packet is longer than its block; it was skipped",
        ),
        (
            "block-end.pcapng",
            2,
            0,
            "at its end; the file is damaged from here on",
        ),
        (
            "block-limit.pcapng",
            2,
            0,
            "a block of 2147483644 bytes is beyond the limit",
        ),
        (
            "block-length.pcapng",
            2,
            0,
            "a block of 8 bytes is shorter than its own framing",
        ),
        (
            "byte-order.pcapng",
            0,
            0,
            "byte 0: a section header has 78563412 for its byte order",
        ),
        (
            "packet-first.pcapng",
            0,
            1,
            "a packet of an interface that was not described",
        ),
    ] {
        let content = read(&load(&format!("damaged/{name}")));
        let error = content.damaged.first().copied().or(content.error);
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.starts_with("byte ") && error.contains(told),
            "{name}: {error}"
        );
        assert_eq!(
            (content.packets.len(), content.damaged.len()),
            (packets, damaged),
            "{name}"
        );
        if name.ends_with(".pcapng") {
            assert!(
                content.packets.iter().all(|packet| good.contains(packet)),
                "{name}"
            );
        }
    }
}

#[test]
fn packets_of_tunnels_read_well() {
    let packets = read(&load("tunnels.pcapng")).packets;
    let told: Vec<String> = packets
        .iter()
        .map(|p| packet::describe::Description(&p.2).to_string())
        .collect();
    let inner = "10.0.0.1:4000 > 10.0.0.2:53 UDP, 5 bytes";
    let macs = "02:00:00:00:00:01 > 02:00:00:00:00:02";
    let wanted = [
        format!("vlan 5 {inner}"),
        format!("vlan 100 vlan 5 {inner}"),
        format!("{macs} MPLS 100 MPLS 200 {inner}"),
        format!("10.0.0.1 > 10.0.0.2 GRE key 7 {inner}"),
        format!("10.0.0.1 > 10.0.0.2 GRE {inner}"),
        "[fd00::1]:4000 > [fd00::2]:53 UDP, 8 bytes, first fragment".into(),
        "fd00::1 > fd00::2 protocol 17, 8 bytes, fragment at 16".into(),
        "10.0.0.1:4000 > 10.0.0.2:80 TCP S seq 1 win 64240, 0 bytes".into(),
        "02:00:00:00:00:01 > 01:80:c2:00:00:00 802.3, 38 bytes".into(),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn checksums_of_received_packets_are_right() {
    use packet::ipv4::{Ipv4View, protocol};
    use packet::{ethernet::ethertype, icmp::IcmpView, icmpv6::Icmpv6View, ipv6::Ipv6View};
    let (mut four, mut six) = (0, 0);
    for (_, _, frame) in read(&load("nano.pcap")).packets {
        let tags = packet::vlan::Tags::new(&frame).unwrap();
        match tags.ethertype() {
            ethertype::IPV4 => {
                let view = Ipv4View::new(tags.payload()).unwrap();
                assert!(view.is_checksum_valid());
                // What a veth pair carries of TCP and UDP has its checksum still to be filled in.
                let whole = !view.more_fragments() && view.fragment_offset() == 0;
                if whole && view.protocol() == protocol::ICMP {
                    assert!(IcmpView::new(view.payload()).unwrap().is_checksum_valid());
                    four += 1;
                }
            }
            ethertype::IPV6 => {
                let view = Ipv6View::new(tags.payload()).unwrap();
                let mut walk = view.extensions();
                let whole = walk
                    .by_ref()
                    .all(|extension| extension.fragment().is_none());
                if whole && walk.protocol() == protocol::ICMPV6 {
                    let message = Icmpv6View::new(walk.payload()).unwrap();
                    assert!(message.is_checksum_valid(view.pseudo(protocol::ICMPV6)));
                    six += 1;
                }
            }
            _ => {}
        }
    }
    assert!(four > 3 && six > 3, "{four} {six}");
}
