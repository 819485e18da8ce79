//! Filter expressions mean what they mean to `tcpdump`, on the same packets of each link type; and
//! what it refuses is refused.

mod packets;

use ::capture::file::{Next, Source};
use live::bpf::BpfError;
use live::filter::{Filter, FilterError};
use packets::{LINKS, Link, payloads};
use std::fmt::Write as _;
use std::io::{Cursor, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The mask that tcpdump assumes for a file's network.
const NETMASK: Option<Ipv4Addr> = Some(Ipv4Addr::UNSPECIFIED);

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
    "len <= 100 or len > 1000",
    "less 1000",
    "inbound",
    "outbound and udp",
    "not outbound or len > 1000",
    "ifindex 2",
    "link[0] = 2",
    "link[0:4] = 2 or link[2:2] = 0",
    "ether[0] & 1 = 0 and ip6",
    "ether src 02:00:00:00:00:02",
    "ether proto 0x0806",
    "ether host 02:00:00:00:00:01 or arp",
    "arp host 10.0.0.1",
    "arp[6:2] = 1",
    "rarp",
    "wlan src 02:00:00:00:00:01",
    "type data",
    "type mgt subtype beacon",
    "dir fromds",
    "ip broadcast",
    "ip multicast",
    "ip6 multicast",
    "ip6 protochain 6",
    "ip6 protochain 17 and len > 1000",
    "ip protochain 6 or arp",
    "not ip6 protochain 6",
    "ip6[40] = 60",
    "sctp",
    "ah",
    "llc",
    "stp",
    "tcp dst portrange 50-60 and ip6",
    "mpls 17 and udp",
    "pppoes 1 and icmp",
    "vlan 9 and vlan 10 and tcp",
    "portrange 1000-2000 and greater 500",
    "gateway",
    "icmp[icmptype] = 0",
    "icmp6[0] != 4",
    "udp[0:2] = 53 or tcp[13] & 2 != 0",
    "isis",
    "ppp",
    "ip6 protochain 51",
    "fddi[0] = 2",
];

/// How many random expressions are compared for each link type.
const RANDOM: usize = 40;

/// A capture file.
struct Capture {
    bytes: Vec<u8>,
    count: usize,
}

/// A capture of packets whose stamps are their numbers: whole and cut, and some of noise.
fn capture(link: Link) -> Capture {
    let mut random = Random(u64::from(link.number) + 1);
    let mut packets = Vec::new();
    for (nth, payload) in payloads().iter().enumerate() {
        let whole = link.packet(nth, payload);
        let length = whole.len() as u32 + [0, 900, 1][nth % 3];
        packets.push((whole.clone(), length));
        let mut cut = whole;
        cut.truncate(1 + random.below(80));
        let broken = random.below(cut.len());
        // A number that no header has: libpcap goes round in circles in authentication headers that
        // say so.
        cut[broken] = [0, 4, 17, 58, 69, 96, 200, 255][random.below(8)];
        packets.push((cut, length));
    }
    let mut bytes = Vec::new();
    let number = |number| link.number(number);
    let half = |number: u16| match link.big_endian {
        true => number.to_be_bytes(),
        false => number.to_le_bytes(),
    };
    bytes.extend(number(0xA1B2_C3D4));
    bytes.extend([half(2), half(4)].concat());
    bytes.extend([0; 8]);
    bytes.extend(number(65_535));
    bytes.extend(number(link.number.into()));
    for (nth, (packet, length)) in packets.iter().enumerate() {
        let captured = packet.len() as u32;
        for field in [nth as u32, 0, captured, *length] {
            bytes.extend(number(field));
        }
        bytes.extend(packet);
    }
    Capture {
        bytes,
        count: packets.len(),
    }
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// An expression of up to `depth` levels.
fn expression(random: &mut Random, depth: usize, out: &mut String) {
    if depth > 0 && random.below(3) > 0 {
        if random.below(4) == 0 {
            out.push_str("not ");
        }
        out.push('(');
        expression(random, depth - 1, out);
        out.push_str(random.pick(&[" and ", " or ", " and not "]));
        expression(random, depth - 1, out);
        return out.push(')');
    }
    let one = random.below(4);
    let way = random.pick(&["", "src ", "dst "]);
    let compare = random.pick(&["=", "!=", "<", ">", ">=", "<="]);
    // Writing to a String does not fail.
    let _ = match random.below(13) {
        0 => write!(
            out,
            "{}",
            random.pick(&["ip", "ip6", "arp", "tcp", "udp", "icmp", "icmp6", "sctp"])
        ),
        1 => write!(out, "{way}host 10.0.0.{one}"),
        2 => write!(out, "{way}net 10.0.0.0/3{}", random.below(3)),
        3 => write!(out, "{way}port {}", [53, 80, 443, 1024][one]),
        4 => write!(out, "{way}portrange {}-80", [50, 53, 60, 80][one]),
        5 => write!(out, "len {compare} {}", random.below(1200)),
        6 => write!(
            out,
            "ip[{}] {compare} {}",
            random.below(24),
            random.below(256)
        ),
        7 => write!(
            out,
            "link[{}:2] & 0xff {compare} {}",
            random.below(30),
            random.below(256)
        ),
        8 => write!(out, "ip6 {way}host fd00::{one}"),
        9 => write!(
            out,
            "{} {}",
            random.pick(&["less", "greater"]),
            random.below(1200)
        ),
        10 => write!(out, "ip6 proto {}", [6, 17, 47, 58][one]),
        11 => write!(
            out,
            "tcp[{}:{}] {compare} {}",
            random.below(20),
            [1, 2, 4, 1][one],
            random.below(300)
        ),
        _ => write!(
            out,
            "{}",
            random.pick(&[
                "inbound",
                "outbound",
                "ether host 02:00:00:00:00:02",
                "ip multicast",
                "vlan"
            ])
        ),
    };
}

/// The packets of a capture as tcpdump writes it, with their stamps in seconds.
fn packets_of(capture: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let little = capture.first() == Some(&0xD4);
    let field = |header: &[u8; 16], at: usize| {
        let bytes = header[at..].first_chunk().copied().unwrap_or_default();
        match little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        }
    };
    let (mut packets, mut rest) = (Vec::new(), capture.get(24..).unwrap_or_default());
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let (bytes, next) = behind.split_at(field(header, 8) as usize);
        packets.push((field(header, 0), bytes.to_vec()));
        rest = next;
    }
    packets
}

/// The packets that tcpdump takes from a file, or `Err` with its words if it refuses the
/// expression.
fn by_tcpdump(file: &[u8], expression: &str) -> Result<Vec<(u32, Vec<u8>)>, String> {
    let mut tcpdump = Command::new("tcpdump")
        .args(["-n", "-r", "-", "-w", "-", "--", expression])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = tcpdump.stdin.take().unwrap();
    let ended = std::thread::scope(|scope| {
        // One that refuses reads no further.
        scope.spawn(move || input.write_all(file));
        tcpdump.wait_with_output().unwrap()
    });
    match ended.status.success() {
        true => Ok(packets_of(&ended.stdout)),
        false => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
    }
}

/// The same by the filter here.
fn by_filter(file: &[u8], expression: &str) -> Result<Vec<u32>, FilterError> {
    let mut filter = Filter::new(expression, NETMASK)?;
    let stream = Box::new(Cursor::new(file.to_vec()));
    let mut source = Source::from_reader("capture", stream).unwrap().verbatim();
    let mut stamps = Vec::new();
    while let Next::Item(item) = source.next().unwrap() {
        if filter.takes(&item)? {
            stamps.push((item.at_ps.unwrap() / 1_000_000_000_000) as u32);
        }
    }
    Ok(stamps)
}

/// Why nothing can be compared here, if that is so.
fn missing() -> Option<String> {
    if let Err(FilterError::Expression(error @ BpfError::NoLibrary(_))) = Filter::new("ip", None) {
        return Some(format!("libpcap is not installed: {error}"));
    }
    let tcpdump = Command::new("tcpdump").arg("--version").output();
    tcpdump.is_err().then(|| "tcpdump is not installed".into())
}

#[test]
fn expressions_match_what_tcpdump_matches_on_each_link_type() {
    if let Some(missing) = missing() {
        return println!("skipped: {missing}");
    }
    let mut random = Random(40);
    let expressions = EXPRESSIONS.iter().map(|text| text.to_string());
    let expressions: Vec<String> = expressions
        .chain((0..RANDOM).map(|_| {
            let mut text = String::new();
            expression(&mut random, 2, &mut text);
            text
        }))
        .collect();
    let compare = |links: &[Link]| {
        let (mut matched, mut refused) = (vec![0; expressions.len()], vec![0; expressions.len()]);
        for &link in links {
            let capture = capture(link);
            for (index, text) in expressions.iter().enumerate() {
                let theirs = by_tcpdump(&capture.bytes, text);
                let ours = by_filter(&capture.bytes, text);
                match (ours, theirs) {
                    (Ok(ours), Ok(theirs)) => {
                        let theirs: Vec<u32> = theirs.iter().map(|(stamp, _)| *stamp).collect();
                        assert_eq!(ours, theirs, "`{text}` on {link:?}");
                        matched[index] +=
                            usize::from(!ours.is_empty() && ours.len() <= capture.count);
                    }
                    (Err(_), Err(_)) => refused[index] += 1,
                    (ours, theirs) => panic!("`{text}` on {link:?}: {ours:?}, tcpdump {theirs:?}"),
                }
            }
        }
        (matched, refused)
    };
    let (first, second) = LINKS.split_at(LINKS.len() / 2);
    let [one, other] = std::thread::scope(|scope| {
        let other = scope.spawn(|| compare(second));
        [compare(first), other.join().unwrap()]
    });
    for (index, text) in EXPRESSIONS.iter().enumerate() {
        let matched = one.0[index] + other.0[index];
        let refused = one.1[index] + other.1[index];
        assert!(
            matched > 0 || refused > 0,
            "`{text}` matches nothing and is refused nowhere: a test of nothing"
        );
    }
}

/// Captures that tcpdump's developers keep, where they are next to the sources.
fn corpus() -> Vec<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/tcpdump/tests");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_capture = |path: &PathBuf| path.extension().is_some_and(|end| end == "pcap");
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_capture)
        .collect();
    paths.sort();
    paths
}

#[test]
fn expressions_match_what_tcpdump_matches_in_captures_of_others() {
    const EACH: [&str; 6] = [
        "ip",
        "udp or ip6",
        "tcp[13] & 2 != 0",
        "tcp or arp",
        "host 10.0.0.1 or icmp",
        "ether multicast",
    ];
    let captures = corpus();
    if let Some(missing) = missing().or(captures
        .is_empty()
        .then(|| "the captures are not here".into()))
    {
        return println!("skipped: {missing}");
    }
    let mut compared = 0;
    for (nth, path) in captures.iter().enumerate() {
        let file = std::fs::read(path).unwrap();
        for step in 0..2 {
            let text = EACH[(nth + 3 * step) % EACH.len()];
            let theirs = by_tcpdump(&file, text);
            let stream = Box::new(Cursor::new(file.clone()));
            let mut source = Source::from_reader("capture", stream).unwrap().verbatim();
            // Damaged files, and link types that libpcap does not know, are not compared.
            let mut filter = Filter::new(text, NETMASK).unwrap();
            let mut ours = Vec::new();
            let ended = loop {
                match source.next() {
                    Ok(Next::Item(item)) => match filter.takes(&item) {
                        Ok(true) => ours.push(item.bytes.to_vec()),
                        Ok(false) => {}
                        Err(error) => break Err(error.to_string()),
                    },
                    Ok(_) => break Ok(()),
                    Err(error) => break Err(error.to_string()),
                }
            };
            match (ended, theirs) {
                (Ok(()), Ok(theirs)) => {
                    // libpcap cuts packets to the length that the file's header says.
                    let is_same = ours.len() == theirs.len()
                        && ours
                            .iter()
                            .zip(&theirs)
                            .all(|(ours, (_, theirs))| ours.starts_with(theirs));
                    assert!(is_same, "`{text}` on {}", path.display());
                    compared += 1;
                }
                (Err(_), Err(_)) => {}
                (ended, theirs) => println!(
                    "not compared: {}: {ended:?}, tcpdump {:?}",
                    path.display(),
                    theirs.err()
                ),
            }
        }
    }
    assert!(
        compared > 2 * captures.len() * 9 / 10,
        "{compared} of {}",
        2 * captures.len()
    );
}
