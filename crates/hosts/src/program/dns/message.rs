//! Questions and answers in bytes.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

pub(super) const A: u16 = 1;
pub(super) const AAAA: u16 = 28;
const ANY: u16 = 255;
const INTERNET: u16 = 1;
const HEADER: usize = 12;
/// Maximum length of a name, bytes (RFC 1035 section 2.3.4).
const MAX_NAME_LEN: usize = 255;
/// Maximum length of a message over UDP, bytes (RFC 1035 section 2.3.4).
const MAX_UDP_MESSAGE_LEN: usize = 512;

/// How a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Good = 0,
    Broken = 1,
    NoSuchName = 3,
    NotImplemented = 4,
}

/// A question, or what came back of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub id: u16,
    pub response: bool,
    pub code: u16,
    pub answers: u16,
    /// In lower case, without a dot at its end.
    pub name: String,
    pub kind: u16,
    /// Where it ends in the message.
    pub end: usize,
    /// Whether it is a plain question to the Internet's names.
    pub plain: bool,
    recursion: bool,
}

/// Reads a message's header and its one question.
pub(super) fn read(bytes: &[u8]) -> Option<Question> {
    let header: &[u8; HEADER] = bytes.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    if word(4) != 1 {
        return None;
    }
    let mut name = String::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        // A pointer has nothing to point to before the first name.
        if length > 63 || name.len() + length > MAX_NAME_LEN {
            return None;
        }
        let label = core::str::from_utf8(bytes.get(at..at + length)?).ok()?;
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.chars().map(|c| c.to_ascii_lowercase()));
        at += length;
    }
    let rest: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    let pair = |at: usize| u16::from_be_bytes([rest[at], rest[at + 1]]);
    Some(Question {
        id: word(0),
        response: header[2] & 0x80 != 0,
        code: u16::from(header[3] & 15),
        answers: word(6),
        name,
        kind: pair(0),
        end: at + 4,
        plain: header[2] & 0x78 == 0 && pair(2) == INTERNET,
        recursion: header[2] & 1 != 0,
    })
}

/// Appends a question; `false` when the name cannot be one.
pub(super) fn ask(id: u16, name: &str, kind: u16, out: &mut Vec<u8>) -> bool {
    out.extend(id.to_be_bytes());
    // Recursion desired; one question.
    out.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    let name = name.trim_end_matches('.');
    if name.len() > MAX_NAME_LEN - 2 {
        return false;
    }
    for label in name.split('.') {
        if label.is_empty() || label.len() > 63 {
            return false;
        }
        out.push(label.len() as u8);
        out.extend(label.as_bytes());
    }
    out.push(0);
    out.extend(kind.to_be_bytes());
    out.extend(INTERNET.to_be_bytes());
    true
}

/// Appends the answer to a question that stands in `asked`.
pub(super) fn answer(
    question: &Question,
    asked: &[u8],
    code: Code,
    addresses: &[IpAddr],
    ttl: u32,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.extend(question.id.to_be_bytes());
    // A response with authority; recursion as it was asked for.
    out.push(0x84 | u8::from(question.recursion));
    out.push(code as u8);
    out.extend([0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend(&asked[HEADER..question.end]);
    let mut count = 0u16;
    for address in addresses {
        let (kind, octets) = match address {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        };
        if question.kind != kind && question.kind != ANY {
            continue;
        }
        if out.len() - start + 12 + octets.len() > MAX_UDP_MESSAGE_LEN {
            // Cut off: some are missing.
            out[start + 2] |= 2;
            break;
        }
        // The name is that of the question.
        out.extend([0xC0, HEADER as u8]);
        out.extend(kind.to_be_bytes());
        out.extend(INTERNET.to_be_bytes());
        out.extend(ttl.to_be_bytes());
        out.extend((octets.len() as u16).to_be_bytes());
        out.extend(&octets);
        count += 1;
    }
    out[start + 6..start + 8].copy_from_slice(&count.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_and_answered() {
        let mut asked = Vec::new();
        assert!(ask(7, "WWW.Example.", A, &mut asked));
        let question = read(&asked).unwrap();
        assert_eq!(
            (question.name.as_str(), question.kind, question.plain),
            ("www.example", A, true)
        );
        let mut told = Vec::new();
        let addresses = ["fd00::1", "10.0.0.1"].map(|text| text.parse().unwrap());
        answer(&question, &asked, Code::Good, &addresses, 60, &mut told);
        let back = read(&told).unwrap();
        assert!(back.response && back.id == 7 && back.answers == 1 && back.code == 0);
        assert_eq!(told[told.len() - 4..], [10, 0, 0, 1]);
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", "a..b", &"x".repeat(64), &"abc.".repeat(80)] {
            assert!(!ask(1, name, A, &mut Vec::new()), "{name}");
        }
        assert_eq!(read(&[0; 11]), None);
        // A pointer to itself.
        let mut looped = [0; 18];
        looped[5] = 1;
        looped[12..14].copy_from_slice(&[0xC0, 12]);
        assert_eq!(read(&looped), None);
    }
}
