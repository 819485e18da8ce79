//! Copies of captures against their originals: as tshark reads them, and block by block.

use crate::shell::{Place, has};
use node::random::Random;
use packet::capture::{Block, Reader, Step};

/// A pcapng file being made, in the byte order of its last section.
struct Maker {
    file: Vec<u8>,
    big: bool,
    random: Random,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        Maker {
            file: Vec::new(),
            big: false,
            random: Random::new(seed),
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn number(&self, value: u64, bytes: usize) -> Vec<u8> {
        match self.big {
            true => value.to_be_bytes()[8 - bytes..].to_vec(),
            false => value.to_le_bytes()[..bytes].to_vec(),
        }
    }

    fn words(&self, words: &[u32]) -> Vec<u8> {
        let words = words.iter().map(|word| self.number((*word).into(), 4));
        words.collect::<Vec<_>>().concat()
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = self.number(code.into(), 2);
        option.extend(self.number(value.len() as u64, 2));
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.words(&[body.len() as u32 + 12]);
        let kind = self.words(&[kind]);
        self.file
            .extend([kind, length.clone(), body, length].concat());
    }

    fn section(&mut self, big: bool) {
        self.big = big;
        let mut body = self.words(&[0x1A2B_3C4D]);
        body.extend(self.number(1, 2));
        body.extend([0, 0]);
        body.extend([0xFF; 8]);
        body.extend(self.option(3, b"a system"));
        body.extend([0; 4]);
        self.block(0x0A0D_0D0A, &body);
    }

    /// An interface with a unit of stamps and an offset, and a random name.
    fn interface(&mut self, link_type: u16, snap_len: u32, resolution: u8, offset_s: i64) {
        let mut body = self.number(link_type.into(), 2);
        body.extend([0, 0]);
        body.extend(self.words(&[snap_len]));
        let name = format!("if{}", self.random(1_000));
        for (code, value) in [
            (2, name.as_bytes()),
            (3, b"an interface"),
            (1, b"a comment"),
            (9, &[resolution]),
            (11, b"\0tcp"),
            (12, b"Linux"),
        ] {
            body.extend(self.option(code, value));
        }
        if offset_s != 0 {
            let offset = self.number(offset_s.cast_unsigned(), 8);
            body.extend(self.option(14, &offset));
        }
        body.extend([0; 4]);
        self.block(1, &body);
    }

    /// A packet at `units` of its interface, mostly cut short, sometimes with an original length
    /// below the captured one.
    fn packet(&mut self, interface: u32, units: u64) {
        let length = self.random(90) as usize + 20;
        let original = match self.random(8) {
            0 => length - 7,
            1..4 => length,
            _ => length + self.random(2_000) as usize,
        };
        let mut data: Vec<u8> = (0..length).map(|_| self.random(256) as u8).collect();
        data.resize(length.next_multiple_of(4), 0);
        let (high, low) = ((units >> 32) as u32, units as u32);
        let mut body = self.words(&[interface, high, low, length as u32, original as u32]);
        body.extend(data);
        if self.random(3) == 0 {
            let flags = 1 + self.random(2) as u32;
            let flags = self.words(&[flags]);
            body.extend(self.option(2, &flags));
            body.extend(self.option(1, b"a packet"));
            let hash = [&[2][..], &[9; 4]].concat();
            body.extend(self.option(3, &hash));
            let drops = self.number(5, 8);
            body.extend(self.option(4, &drops));
            body.extend([0; 4]);
        }
        self.block(6, &body);
    }

    /// A packet without a time, of the section's first interface.
    fn simple_packet(&mut self, snap_len: u32) {
        let original = 20 + self.random(90) as u32;
        let length = match snap_len {
            0 => original,
            limit => original.min(limit),
        };
        let mut body = self.words(&[original]);
        body.extend((0..length).map(|_| self.random(256) as u8));
        self.block(3, &body);
    }

    /// Names, secrets, and counters of an interface.
    fn others(&mut self, interfaces: u64) {
        match self.random(3) {
            0 => {
                let record = [&[192, 0, 2, self.random(250) as u8][..], b"host.example\0"].concat();
                let mut body = self.option(1, &record);
                body.extend([0; 4]);
                self.block(4, &body);
            }
            1 => {
                let secrets = b"CLIENT_RANDOM 00 00\n";
                let mut body = self.words(&[0x544C_534B, secrets.len() as u32]);
                body.extend(secrets);
                self.block(10, &body);
            }
            _ => {
                let interface = self.random(interfaces) as u32;
                let mut body = self.words(&[interface, 0, 77]);
                let count = self.number(5, 8);
                body.extend(self.option(4, &count));
                body.extend([0; 4]);
                self.block(5, &body);
            }
        }
    }
}

/// Up to `sections` sections in either byte order, with interfaces of many units. The first
/// interface of each has no packets with a time; that of the file may have some without.
fn capture(seed: u64, sections: u64) -> Vec<u8> {
    // tshark computes in 64 bits and is wrong where units are below a nanosecond.
    const UNITS: [u8; 7] = [6, 9, 3, 0, 0x8A, 0x8C, 7];
    let mut made = Maker::new(seed);
    for section in 0..=made.random(sections) {
        let big = made.random(2) == 0;
        made.section(big);
        let count = 2 + made.random(3);
        let units: Vec<u8> = (0..count).map(|_| UNITS[made.random(7) as usize]).collect();
        let mut snap_lens = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            let snap_len = match (number, made.random(2)) {
                (_, 0) => 0,
                (0, _) => 60,
                _ => 9_000,
            };
            snap_lens.push(snap_len);
            let link_type = [1, 1, 101, 147][made.random(4) as usize];
            let offset = [0, 0, 1_000_000, -1_000][made.random(4) as usize];
            made.interface(link_type, snap_len, *unit, offset);
        }
        for _ in 0..=made.random(40) {
            if section == 0 && made.random(5) == 0 {
                made.simple_packet(snap_lens[0]);
                continue;
            }
            // Later interfaces may come before earlier ones.
            let interface = 1 + made.random(count - 1) as usize;
            let second = match units[interface] {
                unit @ 0x80.. => 1u64 << (unit & 0x7F),
                unit => 10u64.pow(unit.into()),
            };
            let at = (1_600_000_000 + made.random(1 << 27)) * second + made.random(second);
            made.packet(interface as u32, at);
            if made.random(6) == 0 {
                made.others(count);
            }
        }
    }
    made.file
}

/// Fields of a packet itself, and of its interface, as tshark calls them.
const PACKET_FIELDS: &str = "-e frame.time_epoch -e frame.len -e frame.cap_len -e frame.md5_hash \
     -e frame.encap_type -e frame.packet_flags -e frame.comment";
const INTERFACE_FIELDS: &str = "-e frame.interface_name -e frame.interface_description";

/// Fields of each packet of a file as tshark reads them.
fn tshark(place: &Place, file: &str, fields: &str) -> String {
    place
        .run(&format!(
            "tshark -r {file} -o frame.generate_md5_hash:TRUE -T fields {fields} 2>/dev/null"
        ))
        .out
}

/// The blocks of a file in order, without headers and counters.
fn kinds(file: &[u8]) -> Vec<String> {
    let (mut reader, mut rest, mut kinds) = (Reader::default(), file, Vec::new());
    while let Ok(Step::Block { used, block }) = reader.next(rest, true) {
        match block {
            Block::Interface(interface) => kinds.push(format!("interface {}", interface.name)),
            Block::Packet {
                at_ps,
                original_len,
                bytes,
                ..
            } => kinds.push(format!("packet {at_ps:?} {original_len} {bytes:?}")),
            Block::Other(other) => kinds.push(format!("{:?}", other.portable())),
            _ => {}
        }
        rest = &rest[used..];
    }
    kinds
}

#[test]
fn a_copy_is_the_same_to_tshark() {
    if !has("tshark", "a comparison with tshark") {
        return;
    }
    let place = Place::new("copies");
    let all = format!("{PACKET_FIELDS} {INTERFACE_FIELDS}");
    let mut files: Vec<(String, &str)> = Vec::new();
    for seed in 0..4 {
        let name = format!("random-{seed}.pcapng");
        place.write(&name, capture(seed, 1));
        files.push((name, &all));
    }
    // Files of other programs. tshark 4.0 names interfaces of a second section after those of the
    // first, and interfaces without a name `unknown` in pcapng alone.
    let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures");
    for (name, fields) in [
        ("comment.pcapng", &all[..]),
        ("two-sections.pcapng", PACKET_FIELDS),
        ("cut-60.pcap", PACKET_FIELDS),
    ] {
        files.push((format!("{testdata}/{name}"), fields));
    }
    for (file, fields) in &files {
        place
            .run(&format!("wire dump {file} -o copy.pcapng 2> messages"))
            .good();
        let theirs = tshark(&place, file, fields);
        let ours = tshark(&place, "copy.pcapng", fields);
        assert_eq!(theirs, ours, "{file}");
        assert!(!theirs.is_empty(), "{file}");
    }
}

#[test]
fn a_copy_has_the_names_and_secrets_where_they_were() {
    let place = Place::new("copies-blocks");
    for seed in 0..20 {
        let file = capture(seed, 3);
        place.write("t.pcapng", &file);
        let copied = place.run("wire dump t.pcapng -o copy.pcapng");
        assert_eq!(copied.code, Some(0), "{seed}: {}", copied.err);
        let (mut wanted, mut copied) = (kinds(&file), kinds(&place.read("copy.pcapng")));
        // An interface comes before its first packet in either file, but later in a copy.
        let interfaces = |kinds: &[String]| {
            let all = kinds.iter().filter(|kind| kind.starts_with("interface"));
            all.cloned().collect::<Vec<_>>()
        };
        assert_eq!(interfaces(&wanted), interfaces(&copied), "{seed}");
        for kinds in [&mut wanted, &mut copied] {
            kinds.retain(|kind| !kind.starts_with("interface"));
        }
        assert_eq!(wanted, copied, "{seed}");
    }
}

#[test]
fn a_packet_without_a_time_gets_one_where_its_copy_needs_it() {
    let place = Place::new("copies-simple");
    let mut made = Maker::new(3);
    for _ in 0..2 {
        made.section(false);
        made.interface(1, 60, 9, 0);
        made.simple_packet(60);
        made.packet(0, 1_600_000_000_000_000_000);
    }
    place.write("t.pcapng", &made.file);
    for (options, dated) in [
        // The first interface of the second section is the second of the copy.
        ("", 1),
        ("--pcap", 2),
        ("--snap-length 14", 2),
        ("--filter 'greater 0' --pcap", 2),
        ("--count 1", 0),
        ("--count 1 --shift +1", 0),
    ] {
        let copied = place.run(&format!("wire dump t.pcapng {options} -o copy"));
        assert_eq!(copied.code, Some(i32::from(dated > 0)), "{}", copied.err);
        let message = format!("{dated} packets have no time and got that of the packet before");
        assert_eq!(copied.err.contains(&message), dated > 0, "{}", copied.err);
        let copy = kinds(&place.read("copy"));
        let times: Vec<&String> = copy.iter().filter(|kind| kind.starts_with('p')).collect();
        let first = match dated {
            2 => "packet Some(0) ",
            _ => "packet None ",
        };
        assert!(times[0].starts_with(first), "{options}: {times:?}");
        if let Some(third) = times.get(2) {
            assert!(third.starts_with("packet Some(1600000000000000000000) "));
        }
    }
}

#[test]
fn no_packet_of_a_copy_is_longer_than_the_snap_length_of_its_interface() {
    let place = Place::new("copies-snap");
    let mut random = Maker::new(9);
    for case in 0..20 {
        let limit = 60 + random.random(60) as u32;
        let lengths: Vec<u32> = (0..6).map(|_| 40 + random.random(100) as u32).collect();
        let mut file = [0xA1B2_C3D4, 0x0004_0002, 0, 0, limit, 1]
            .map(u32::to_le_bytes)
            .concat();
        for (number, length) in (1..).zip(&lengths) {
            file.extend([number, 0, *length, *length].map(u32::to_le_bytes).concat());
            file.resize(file.len() + *length as usize, 7);
        }
        place.write("t.pcap", &file);
        place.run("wire dump t.pcap -o copy.pcapng").good();
        let copy = place.read("copy.pcapng");
        let (mut reader, mut rest) = (Reader::default(), &copy[..]);
        let (mut limits, mut copied) = (Vec::new(), Vec::new());
        while let Ok(Step::Block { used, block }) = reader.next(rest, true) {
            match block {
                Block::Interface(interface) => limits.push(match interface.snap_len {
                    0 => u32::MAX,
                    limit => limit,
                }),
                Block::Packet {
                    interface, bytes, ..
                } => {
                    let length = bytes.len() as u32;
                    assert!(length <= limits[interface as usize], "{case}");
                    copied.push(length);
                }
                _ => {}
            }
            rest = &rest[used..];
        }
        assert_eq!(copied, lengths, "{case}");
        // libpcap takes one snap length for all interfaces.
        if limits.len() == 1 && has("tcpdump", "a comparison with tcpdump") {
            let read = "tcpdump -nr copy.pcapng 2>/dev/null | grep -c '^[0-9]'";
            assert_eq!(place.run(read).good(), "6\n", "{case}");
        }
    }
}

#[test]
fn every_file_of_a_split_has_the_names_and_what_cannot_be_kept_is_counted() {
    let place = Place::new("copies-split");
    let mut made = Maker::new(1);
    made.section(false);
    made.interface(1, 0, 9, 0);
    let record = [&[192, 0, 2, 1][..], b"host\0"].concat();
    let names = [made.option(1, &record), vec![0; 4]].concat();
    let custom = made.words(&[32_473, 7]);
    made.block(4, &names);
    made.block(0xBAD, &custom);
    for kind in [0x4000_0BAD, 0x204, 0x8000_0001] {
        made.block(kind, &custom);
    }
    for at in 0..4 {
        made.packet(0, 1_600_000_000_000_000_000 + at);
    }
    place.write("t.pcapng", &made.file);
    let copied = place.run("wire dump t.pcapng -o part.pcapng --split 1");
    assert_eq!(copied.code, Some(0));
    for message in [
        "0x00000204 (Sysdig): 1",
        "0x40000BAD (custom, not to be copied): 1",
        "0x80000001: 1",
    ] {
        assert!(copied.err.contains(message), "{}", copied.err);
    }
    for number in 1..=4 {
        let kinds = kinds(&place.read(&format!("part-0000{number}.pcapng")));
        let count = |text: &str| kinds.iter().filter(|kind| kind.contains(text)).count();
        // One file has the custom block.
        let custom = usize::from(number == 1);
        assert_eq!(
            (
                count("kind: 4,"),
                count(&format!("kind: {},", 0xBAD)),
                count("packet")
            ),
            (1, custom, 1),
            "{number} {kinds:?}"
        );
    }
    // A filter chooses packets, and merged files have the blocks of each.
    place
        .run("wire dump t.pcapng --filter 'udp port 1' -o none.pcapng 2> messages")
        .good();
    assert_eq!(kinds(&place.read("none.pcapng")).len(), 3);
    place
        .run("wire dump t.pcapng t.pcapng --merge -o both.pcapng 2> messages")
        .good();
    let both = kinds(&place.read("both.pcapng"));
    assert_eq!(
        both.iter().filter(|kind| kind.contains("kind: 4,")).count(),
        2
    );
    // pcap has no room for them.
    let pcap = place.run("wire dump t.pcapng --pcap --lenient -o t.pcap");
    assert!(pcap.err.contains("2 blocks (names"), "{}", pcap.err);
}

#[test]
fn older_and_foreign_files_are_read_or_named() {
    let place = Place::new("copies-foreign");
    let header = |magic: u32, minor: u16| {
        let mut file = magic.to_le_bytes().to_vec();
        file.extend([2, 0, minor as u8, 0]);
        file.extend([0; 8]);
        file.extend([0xFF, 0xFF, 0, 0, 1, 0, 0, 0]);
        file
    };
    let frame = |n: u8| vec![n; 60 + usize::from(n)];
    let packets = |mut file: Vec<u8>, swapped: bool, more: usize| {
        for n in 0..3u8 {
            let (captured, original) = (60 + u32::from(n), 90 + u32::from(n));
            let lengths = if swapped {
                [original, captured]
            } else {
                [captured, original]
            };
            for word in [1_700_000_000, u32::from(n), lengths[0], lengths[1]] {
                file.extend(word.to_le_bytes());
            }
            file.extend(vec![0; more]);
            file.extend(frame(n));
        }
        file
    };
    let usual = packets(header(0xA1B2_C3D4, 4), false, 0);
    place.write("usual.pcap", &usual);
    place.write("old.pcap", packets(header(0xA1B2_C3D4, 2), true, 0));
    place.write("modified.pcap", packets(header(0xA1B2_CD34, 4), false, 8));
    let script = |name: &str| {
        format!(
            "wire dump {name}.pcap -o {name}.pcapng 2> messages && wire cat {name}.pcap 2> messages"
        )
    };
    let wanted = place.run(&script("usual")).out;
    assert_eq!(wanted.lines().count(), 3);
    for name in ["old", "modified"] {
        assert_eq!(place.run(&script(name)).out, wanted, "{name}");
        let copies = [name, "usual"].map(|name| kinds(&place.read(&format!("{name}.pcapng"))));
        assert_eq!(copies[0], copies[1], "{name}");
    }
    for (magic, name) in [
        (&[0x04, 0x22, 0x4D, 0x18][..], "lz4"),
        (&[0xFD, b'7', b'z', b'X', b'Z', 0][..], "xz"),
        (&b"BZh91AY"[..], "bzip2"),
    ] {
        place.write("t.packed", [magic, &[7; 99][..]].concat());
        for command in [
            "wire cat",
            "wire dump -o x.pcapng",
            "wire cut dst",
            "wire profile",
            "wire gen --replay",
        ] {
            let ended = place.run(&format!("{command} t.packed"));
            assert_eq!(ended.code, Some(2), "{command} {name}: {}", ended.err);
            let message = format!(
                "compressed by {name}, which is not read here; decompress it with `{name} -dc FILE`"
            );
            assert!(ended.err.contains(&message), "{command}: {}", ended.err);
        }
    }
    // The advice of the message works.
    for packer in ["lz4", "xz", "bzip2"] {
        if has(packer, "a file that it has compressed") {
            let ended = place.run(&format!(
                "{packer} -c < usual.pcap > t.packed && {packer} -dc t.packed | wire cat 2> messages"
            ));
            assert_eq!(ended.out, wanted, "{packer}");
        }
    }
}
