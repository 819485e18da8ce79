//! Tells by its first bytes what a file of packets is (FORMATS section 6).

/// How many bytes [`sniff`] wants to see; fewer do where the file is shorter.
pub const HEAD: usize = 16;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pcap, in microseconds or nanoseconds, in either byte order.
    Pcap,
    /// pcapng.
    Pcapng,
    /// Text lines. An empty file is one without lines.
    Lines,
    /// Binary records.
    Records,
    /// Any of these behind gzip.
    Gzip,
    /// Any of these behind zstd.
    Zstd,
}

/// The first bytes of captures: pcapng, and pcap of microseconds, nanoseconds and Kuznetzov's
/// variant in both byte orders.
pub const CAPTURES: [[u8; 4]; 7] = [
    [0x0A, 0x0D, 0x0D, 0x0A],
    [0xA1, 0xB2, 0xC3, 0xD4],
    [0xD4, 0xC3, 0xB2, 0xA1],
    [0xA1, 0xB2, 0x3C, 0x4D],
    [0x4D, 0x3C, 0xB2, 0xA1],
    [0xA1, 0xB2, 0xCD, 0x34],
    [0x34, 0xCD, 0xB2, 0xA1],
];

/// A format that is not read here, but may hold packets. Its message names it and a command that
/// makes it readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is {what}, which is not read here; {fix}")]
pub struct Foreign {
    what: &'static str,
    fix: &'static str,
}

/// The first bytes of formats that are not read here: none begins as lines do.
const FOREIGN: [(&[u8], Foreign); 12] = [
    (&[0x04, 0x22, 0x4D, 0x18], LZ4),
    (&[0x02, 0x21, 0x4C, 0x18], LZ4),
    (
        &[0xFD, b'7', b'z', b'X', b'Z', 0],
        format("compressed by xz", "decompress it with `xz -dc FILE`"),
    ),
    (
        b"BZh",
        format("compressed by bzip2", "decompress it with `bzip2 -dc FILE`"),
    ),
    (
        b"LZIP",
        format("compressed by lzip", "decompress it with `lzip -dc FILE`"),
    ),
    (
        &[0x1F, 0x9D],
        format(
            "compressed by compress",
            "decompress it with `gzip -dc FILE`",
        ),
    ),
    (
        b"PK\x03\x04",
        format("a zip archive", "take the capture out with `unzip -p FILE`"),
    ),
    (
        b"7z\xBC\xAF",
        format("a 7z archive", "take the capture out with `7z x -so FILE`"),
    ),
    (b"snoop\0", format("a snoop capture", CONVERT)),
    (b"GMBU", format("a Network Monitor capture", CONVERT)),
    (b"RTSS", format("a Network Monitor capture", CONVERT)),
    (b"TRSNIFF", format("a Sniffer capture", CONVERT)),
];
const LZ4: Foreign = format("compressed by lz4", "decompress it with `lz4 -dc FILE`");
const CONVERT: &str = "convert it with `editcap -F pcapng FILE OUT`";
/// How many bytes [`foreign`] looks at.
pub const FOREIGN_HEAD: usize = 8;

const fn format(what: &'static str, fix: &'static str) -> Foreign {
    Foreign { what, fix }
}

/// The format of a file that begins with `head`, if that is one that is not read here.
pub fn foreign(head: &[u8]) -> Option<Foreign> {
    let mut known = FOREIGN.iter();
    let found = known.find(|(magic, _)| head.starts_with(magic));
    found.map(|(_, foreign)| *foreign)
}

/// Whether more bytes may tell that a file which begins with `head` is [foreign].
pub fn may_be_foreign(head: &[u8]) -> bool {
    let begins = |magic: &[u8]| head.len() < magic.len() && magic.starts_with(head);
    FOREIGN.iter().any(|(magic, _)| begins(magic))
}

/// A file that begins like nothing that holds packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "byte 0: the file is neither pcap, pcapng, lines nor records, plain or behind gzip or zstd; \
     convert another tool's capture with `editcap -F pcapng`"
)]
pub struct Unknown;

/// The kind of a file that begins with `head`.
///
/// Lines begin with a hexadecimal digit, a blank or `#`, and go on as text does; records begin with
/// their magic number, whose second byte is no digit.
///
/// # Errors
/// When it is none of those known.
pub fn sniff(head: &[u8]) -> Result<Kind, Unknown> {
    match head {
        [0x0A, 0x0D, 0x0D, 0x0A, ..] => Ok(Kind::Pcapng),
        _ if CAPTURES.iter().any(|magic| head.starts_with(magic)) => Ok(Kind::Pcap),
        [0x37, 0x76 | 0x77, ..] => Ok(Kind::Records),
        [0x1F, 0x8B, ..] => Ok(Kind::Gzip),
        // The second is a skippable frame, with which a zstd file may begin.
        [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Ok(Kind::Zstd),
        _ if is_text(&head[..head.len().min(HEAD)]) => Ok(Kind::Lines),
        _ => Err(Unknown),
    }
}

/// Whether a file of lines may begin so: digits and blanks up to the first comment.
fn is_text(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'#').next().unwrap_or_default();
    line.iter()
        .all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{ETHERNET, PcapWriter, PcapngWriter};
    use alloc::vec::Vec;

    #[test]
    fn every_kind_is_told_by_its_first_bytes() {
        let mut file = Vec::new();
        PcapWriter::NANO.header(ETHERNET, 0, &mut file);
        assert_eq!(sniff(&file), Ok(Kind::Pcap));
        file.clear();
        PcapngWriter::default().header("", &mut file);
        assert_eq!(sniff(&file), Ok(Kind::Pcapng));
        assert_eq!(sniff(&[0x1F, 0x8B, 8]), Ok(Kind::Gzip));
        assert_eq!(sniff(&[0x28, 0xB5, 0x2F, 0xFD]), Ok(Kind::Zstd));
        assert_eq!(sniff(&[0x37, 0x76, 0, 60]), Ok(Kind::Records));
        assert_eq!(sniff(&[0x34, 0xCD, 0xB2, 0xA1]), Ok(Kind::Pcap));
        for text in [
            "",
            "\n",
            "\n\r\n",
            "# a note",
            "00000000075BCD15 0011",
            " 001122334455\t6677",
        ] {
            assert_eq!(sniff(text.as_bytes()), Ok(Kind::Lines), "{text:?}");
        }
        for other in ["#", "  #\u{1F980}", "A#"] {
            assert_eq!(sniff(other.as_bytes()), Ok(Kind::Lines), "{other:?}");
        }
        for other in [
            "snoop\0\0\0",
            "Time,Source",
            "\x7FELF",
            "\u{FEFF}0011",
            "0\0",
        ] {
            assert_eq!(sniff(other.as_bytes()), Err(Unknown), "{other:?}");
        }
    }

    #[test]
    fn a_format_that_is_not_read_is_named_by_as_few_bytes_as_it_takes() {
        for (magic, foreign_format) in FOREIGN {
            assert!(magic.len() <= FOREIGN_HEAD);
            assert_eq!(sniff(magic), Err(Unknown), "{magic:?}");
            for len in 0..magic.len() {
                assert!(may_be_foreign(&magic[..len]), "{magic:?} {len}");
                assert_eq!(foreign(&magic[..len]), None, "{magic:?} {len}");
            }
            let whole = [magic, &[7, 7]].concat();
            assert_eq!(foreign(&whole), Some(foreign_format), "{magic:?}");
        }
        for magic in CAPTURES {
            assert!(foreign(&magic).is_none() && !may_be_foreign(&magic));
        }
        assert_eq!(
            std::format!("{LZ4}"),
            "the file is compressed by lz4, which is not read here; decompress it with `lz4 -dc FILE`"
        );
    }
}
