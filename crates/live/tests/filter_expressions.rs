//! Filter expressions mean what they mean to `tcpdump`, on the same packets.

use live::bpf::{self, BpfError};
use packet::bpf::Program;
use std::io::Write;
use std::process::{Command, Stdio};

const EXPRESSIONS: &[&str] = &[
    "",
    "ip",
    "ip6",
    "arp",
    "not ip",
    "icmp",
    "icmp6",
    "udp",
    "tcp",
    "tcp port 80",
    "udp dst port 53",
    "port 53 or port 443",
    "portrange 50-60",
    "host 10.0.0.1",
    "src net 10.0.0.0/8 and not dst host 10.0.0.2",
    "ip6 host fd00::1",
    "ether host 02:00:00:00:00:01",
    "ether broadcast",
    "ether multicast",
    "ether[12:2] = 0x0806",
    "tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn",
    "ip[6:2] & 0x1fff != 0",
    "ip[8] < 10",
    "udp[4:2] > 100",
    "len > 100",
    "less 64",
    "greater 128 and udp",
    "vlan",
    "vlan 10",
    "vlan 10 and udp port 53",
    "vlan and vlan 10",
    "ip proto 47",
    "ip6 proto 17",
    "tcp and (tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420)",
    "ip[2:2] - ((ip[0] & 15) << 2) > 60",
    "ether[0] * 3 % 7 = 6",
    "mpls",
    "pppoes",
];

fn ethernet(source: u8, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, source];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv4(protocol: u8, last: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let len = (20 + payload.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 0]);
    header.extend(fragment.to_be_bytes());
    header.extend([last * 4, protocol, 0, 0, 10, 0, 0, last, 10, 0, 0, last ^ 3]);
    [header, payload.to_vec()].concat()
}

fn ipv6(next: u8, last: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next, 64];
    for last in [last, last ^ 3] {
        header.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [header, payload.to_vec()].concat()
}

fn transport(source: u16, destination: u16, flags: u8, len: usize) -> Vec<u8> {
    let mut header = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    // Read as UDP, bytes 4 and 5 are the length; read as TCP, byte 12 is the header's length.
    header.extend((len as u16).to_be_bytes());
    header.extend([0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    header.extend(b"GET ");
    header.resize(len.max(24), 0x55);
    header
}

/// Every protocol that the expressions ask for, tagged and not, whole and cut, and noise.
fn packets() -> Vec<Vec<u8>> {
    let mut plain = Vec::new();
    for last in 1..4 {
        for (source, destination) in [(53, 1024), (1024, 53), (443, 80), (80, 55)] {
            for (flags, len) in [(0x02, 24), (0x12, 200)] {
                let payload = transport(source, destination, flags, len);
                for protocol in [1, 6, 17, 47, 58] {
                    let ip = ipv4(protocol, last, 0, &payload);
                    plain.push(ethernet(last, 0x0800, &ip));
                    plain.push(ethernet(last, 0x86DD, &ipv6(protocol, last, &payload)));
                }
                plain.push(ethernet(last, 0x0800, &ipv4(17, last, 0x00B9, &payload)));
            }
        }
        plain.push(ethernet(last, 0x0806, &[last; 46]));
        plain.push(ethernet(last, 0x8847, &[last; 46]));
        plain.push(ethernet(last, 0x8864, &[last; 46]));
    }
    for (index, frame) in plain.iter_mut().enumerate() {
        match index % 7 {
            0 => frame[..6].fill(0xFF),
            1 => frame[0] = 1,
            _ => {}
        }
    }
    let mut packets = Vec::new();
    for frame in &plain {
        packets.push(frame.clone());
        for tags in [
            &[0x81, 0, 0, 10][..],
            &[0x81, 0, 0, 11],
            &[0x88, 0xA8, 0, 9, 0x81, 0, 0, 10],
        ] {
            packets.push([&frame[..12], tags, &frame[12..]].concat());
        }
    }
    let mut random = 1u32;
    let mut noise = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 24) as u8
    };
    for index in 0..packets.len() {
        let mut cut = packets[index].clone();
        cut.truncate(14 + usize::from(noise()) % 60);
        let broken = usize::from(noise()) % cut.len();
        cut[broken] = noise();
        packets.push(cut);
    }
    packets
}

/// A pcap file whose stamps are the packets' numbers.
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xA1B2_C3D4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for (number, packet) in packets.iter().enumerate() {
        let len = packet.len() as u32;
        for field in [number as u32, 0, len, len] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// The numbers of the packets that tcpdump takes from a file; `None` if there is no tcpdump.
fn by_tcpdump(file: &[u8], expression: &str) -> Option<Vec<usize>> {
    let mut tcpdump = Command::new("tcpdump")
        .args(["-n", "-r", "-", "-w", "-", "--", expression])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = tcpdump.stdin.take().unwrap();
    let file = file.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&file));
    let output = tcpdump.wait_with_output().unwrap().stdout;
    writer.join().unwrap().unwrap();
    let mut numbers = Vec::new();
    let mut rest = output
        .get(24..)
        .unwrap_or_else(|| panic!("no output for `{expression}`"));
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let field = |at| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()) as usize;
        numbers.push(field(0));
        rest = &behind[field(8)..];
    }
    Some(numbers)
}

#[test]
fn expressions_match_what_tcpdump_matches() {
    let packets = packets();
    let file = pcap(&packets);
    for expression in EXPRESSIONS {
        let program = match bpf::compile(expression, 65_535) {
            Err(BpfError::NoLibrary(error)) => {
                println!("skipped: libpcap is not installed: {error}");
                return;
            }
            result => Program::new(result.unwrap()).unwrap(),
        };
        let matches = |packet: &Vec<u8>| program.run(packet) != 0;
        let ours: Vec<_> = (0..packets.len())
            .filter(|&n| matches(&packets[n]))
            .collect();
        let Some(theirs) = by_tcpdump(&file, expression) else {
            println!("skipped: tcpdump is not installed");
            return;
        };
        assert!(
            !ours.is_empty(),
            "`{expression}` matches nothing: a test of nothing"
        );
        assert_eq!(ours, theirs, "`{expression}`");
    }
}
