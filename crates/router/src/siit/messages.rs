//! Types of ICMP messages of both versions (RFC 7915 sections 4.2 and 5.2).

/// Type, code, and the four bytes after the checksum.
pub(super) type Message = (u8, u8, u32);

/// Meaning of an ICMP message in the other version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// An echo request or reply: its new type.
    Echo(u8),
    /// An error.
    Error(Message),
    /// An error about a packet that was too long, with the MTU that it gives.
    TooBig(u32),
    /// The other version has no such message.
    None,
}

/// The message of ICMPv6 for one of ICMP.
pub(super) fn to_v6((kind, code, rest): Message) -> Translation {
    use Translation::*;
    let error = match (kind, code) {
        (8, 0) => return Echo(128),
        (0, 0) => return Echo(129),
        // Next header is the field that an unknown protocol is in.
        (3, 2) => (4, 1, 6),
        (3, 3) => (1, 4, 0),
        (3, 4) => return TooBig(rest & 0xFFFF),
        (3, 9 | 10 | 13 | 15) => (1, 1, 0),
        (3, 0 | 1 | 5..=8 | 11 | 12) => (1, 0, 0),
        (11, code) => (3, code, 0),
        (12, 0 | 2) => {
            // Traffic class and length are at other places, and some fields are not there.
            let pointer = match rest >> 24 {
                0 => 0,
                1 => 1,
                2 | 3 => 4,
                8 => 7,
                9 => 6,
                12..=15 => 8,
                16..=19 => 24,
                _ => return None,
            };
            (4, 0, pointer)
        }
        _ => return None,
    };
    Error(error)
}

/// The message of ICMP for one of ICMPv6.
pub(super) fn to_v4((kind, code, rest): Message) -> Translation {
    use Translation::*;
    let error = match (kind, code) {
        (128, 0) => return Echo(8),
        (129, 0) => return Echo(0),
        (1, 0 | 2 | 3) => (3, 1, 0),
        (1, 1) => (3, 10, 0),
        (1, 4) => (3, 3, 0),
        (2, _) => return TooBig(rest),
        (3, code) => (11, code, 0),
        (4, 1) => (3, 2, 0),
        (4, 0) => {
            let pointer = match rest {
                0 => 0,
                1 => 1,
                4 | 5 => 2,
                6 => 9,
                7 => 8,
                8..=23 => 12,
                24..=39 => 16,
                _ => return None,
            };
            (12, 0, pointer << 24)
        }
        _ => return None,
    };
    Error(error)
}

/// MTUs of common links, for an error that gives none (RFC 1191 section 7.1).
const PLATEAUS: [u32; 10] = [
    65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296,
];

/// The largest common MTU below the length of a packet.
pub(super) fn plateau(length: u32) -> u32 {
    let mut smaller = PLATEAUS.into_iter().filter(|&mtu| mtu < length);
    smaller.next().unwrap_or(68)
}
