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
        [0xA1, 0xB2, 0xC3, 0xD4, ..] | [0xD4, 0xC3, 0xB2, 0xA1, ..] => Ok(Kind::Pcap),
        [0xA1, 0xB2, 0x3C, 0x4D, ..] | [0x4D, 0x3C, 0xB2, 0xA1, ..] => Ok(Kind::Pcap),
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
}
