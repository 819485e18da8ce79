//! DNS messages (RFC 1035), as far as they are there: a capture may have cut one short.

use crate::BadHeader;
use crate::field;
use alloc::vec::Vec;
use core::fmt::{self, Display, Write};
use core::net::{Ipv4Addr, Ipv6Addr};

/// The port of DNS; its relatives for a link, mDNS and LLMNR, have the same messages.
pub const PORT: u16 = 53;
/// The port of multicast DNS (RFC 6762).
pub const MULTICAST_PORT: u16 = 5353;
/// The port of link-local multicast name resolution (RFC 4795).
pub const LINK_LOCAL_PORT: u16 = 5355;
/// Maximum length of a name, bytes, including the length bytes; each pointer that is followed
/// counts as one.
const MAX_NAME_LEN: usize = 255;

/// Types of records.
pub mod kind {
    /// An IPv4 address.
    pub const A: u16 = 1;
    /// A name server.
    pub const NS: u16 = 2;
    /// Another name of the same.
    pub const CNAME: u16 = 5;
    /// The begin of a zone.
    pub const SOA: u16 = 6;
    /// The name of an address.
    pub const PTR: u16 = 12;
    /// A mail exchange.
    pub const MX: u16 = 15;
    /// Text.
    pub const TXT: u16 = 16;
    /// An IPv6 address.
    pub const AAAA: u16 = 28;
    /// A service.
    pub const SRV: u16 = 33;
    /// Options of the message itself (RFC 6891).
    pub const OPT: u16 = 41;

    /// Names and numbers.
    pub const NAMES: [(&str, u16); 12] = [
        ("A", A),
        ("NS", NS),
        ("CNAME", CNAME),
        ("SOA", SOA),
        ("PTR", PTR),
        ("MX", MX),
        ("TXT", TXT),
        ("AAAA", AAAA),
        ("SRV", SRV),
        ("OPT", OPT),
        ("HTTPS", 65),
        ("ANY", 255),
    ];
}

/// A message whose header is all there. No method panics; walks end where the message makes no sense.
#[derive(Clone, Copy, Debug)]
pub struct DnsView<'a> {
    header: &'a [u8; 12],
    message: &'a [u8],
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What is asked about.
    pub name: Name<'a>,
    /// The type of records asked for, as in [`kind`].
    pub kind: u16,
    /// The class, 1 for the Internet.
    pub class: u16,
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// It answers the question.
    Answer,
    /// It says who has authority.
    Authority,
    /// It may be of use.
    Additional,
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Where it stands.
    pub section: Section,
    /// What it is about.
    pub name: Name<'a>,
    /// Its type, as in [`kind`].
    pub kind: u16,
    /// Its class.
    pub class: u16,
    /// For how many seconds it holds.
    pub ttl: u32,
    /// What it says.
    pub data: Data<'a>,
}

/// What a record says.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// A name: of CNAME, NS, PTR.
    Name(Name<'a>),
    /// A mail exchange: preference and name.
    Mx(u16, Name<'a>),
    /// A service: priority, weight, port and name.
    Srv([u16; 3], Name<'a>),
    /// Strings, each behind a byte with its length; [`Strings`] walks them.
    Txt(Strings<'a>),
    /// Anything else, or one of those with a length that is not its own.
    Other(&'a [u8]),
}

impl<'a> DnsView<'a> {
    /// Looks at a message.
    ///
    /// # Errors
    /// When the header is cut off.
    pub fn new(message: &'a [u8]) -> Result<DnsView<'a>, BadHeader> {
        let (header, _) = field::split::<12>(message, "DNS header cut off")?;
        Ok(DnsView { header, message })
    }

    /// What question and answer share.
    pub fn id(&self) -> u16 {
        field::u16::<0, 12>(self.header)
    }

    /// The flags, with opcode and return code in them.
    pub fn flags(&self) -> u16 {
        field::u16::<2, 12>(self.header)
    }

    /// Whether it is a response.
    pub fn is_response(&self) -> bool {
        self.flags() & 0x8000 != 0
    }

    /// The kind of question: 0 is the usual one.
    pub fn opcode(&self) -> u8 {
        (self.flags() >> 11) as u8 & 15
    }

    /// What came of it: 0 is good, 3 no such name.
    pub fn rcode(&self) -> u8 {
        self.flags() as u8 & 15
    }

    /// How many questions, answers, authorities and additional records there are said to be.
    pub fn counts(&self) -> [u16; 4] {
        [
            field::u16::<4, 12>(self.header),
            field::u16::<6, 12>(self.header),
            field::u16::<8, 12>(self.header),
            field::u16::<10, 12>(self.header),
        ]
    }

    /// The questions that are there.
    pub fn questions(&self) -> impl Iterator<Item = Question<'a>> {
        let mut walk = Walk::behind_header(self.message);
        (0..self.counts()[0]).map_while(move |_| walk.question())
    }

    /// The records that are there.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> {
        let mut walk = Walk::behind_header(self.message);
        let [questions, answers, authorities, additional] = self.counts();
        let sound = (0..questions).all(|_| walk.question().is_some());
        [
            (Section::Answer, answers),
            (Section::Authority, authorities),
            (Section::Additional, additional),
        ]
        .into_iter()
        .flat_map(|(section, count)| (0..count).map(move |_| section))
        .take_while(move |_| sound)
        .map_while(move |section| walk.record(section))
    }
}

/// A place in a message.
struct Walk<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    fn behind_header(message: &'a [u8]) -> Walk<'a> {
        Walk { message, at: 12 }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.message.get(self.at..self.at + length)?;
        self.at += length;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    }

    fn name(&mut self) -> Option<Name<'a>> {
        let name = Name {
            message: self.message,
            at: self.at,
        };
        // Where it goes on: behind the root, or behind the first pointer.
        loop {
            match *self.take(1)?.first()? {
                0 => break,
                length @ 1..64 => {
                    self.take(length.into())?;
                }
                _ => {
                    self.take(1)?;
                    break;
                }
            }
        }
        name.is_sound().then_some(name)
    }

    fn question(&mut self) -> Option<Question<'a>> {
        Some(Question {
            name: self.name()?,
            kind: self.number()?,
            class: self.number()?,
        })
    }

    fn record(&mut self, section: Section) -> Option<Record<'a>> {
        let (name, kind, class) = (self.name()?, self.number()?, self.number()?);
        let ttl = u32::from_be_bytes(*self.take(4)?.first_chunk()?);
        let length = self.number()?.into();
        let at = self.at;
        let bytes = self.take(length)?;
        // Names of data may point to what stands before.
        let mut within = Walk {
            message: &self.message[..self.at],
            at,
        };
        let data = within.data(kind, bytes).unwrap_or(Data::Other(bytes));
        Some(Record {
            section,
            name,
            kind,
            class,
            ttl,
            data,
        })
    }

    fn data(&mut self, kind: u16, bytes: &'a [u8]) -> Option<Data<'a>> {
        Some(match kind {
            kind::A => Data::A(<[u8; 4]>::try_from(bytes).ok()?.into()),
            kind::AAAA => Data::Aaaa(<[u8; 16]>::try_from(bytes).ok()?.into()),
            kind::CNAME | kind::NS | kind::PTR => Data::Name(self.name()?),
            kind::MX => Data::Mx(self.number()?, self.name()?),
            kind::SRV => {
                let numbers = [self.number()?, self.number()?, self.number()?];
                Data::Srv(numbers, self.name()?)
            }
            kind::TXT => Data::Txt(Strings(bytes)),
            _ => return None,
        })
    }
}

/// A name in a message, whose labels all are there. It shows as `example.org`, the root as `.`; what is no letter, digit
/// or other graphic character as `\DDD` (RFC 1035 section 5.1).
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Name<'a> {
    /// Its labels.
    pub fn labels(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut labels = Labels::of(*self);
        core::iter::from_fn(move || labels.next().ok().flatten())
    }

    fn is_sound(&self) -> bool {
        let mut labels = Labels::of(*self);
        loop {
            match labels.next() {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
}

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for label in self.labels() {
            if !first {
                f.write_char('.')?;
            }
            first = false;
            for &byte in label {
                match byte {
                    b'.' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                    0x21..=0x7E => f.write_char(byte.into())?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
        }
        match first {
            true => f.write_char('.'),
            false => Ok(()),
        }
    }
}

/// Walks the labels of a name; it comes to an end, wherever pointers lead to.
struct Labels<'a> {
    message: &'a [u8],
    at: usize,
    left: usize,
}

impl<'a> Labels<'a> {
    fn of(name: Name<'a>) -> Labels<'a> {
        Labels {
            message: name.message,
            at: name.at,
            left: MAX_NAME_LEN,
        }
    }

    fn next(&mut self) -> Result<Option<&'a [u8]>, BadHeader> {
        const CUT: BadHeader = BadHeader("DNS name cut off");
        loop {
            let length = *self.message.get(self.at).ok_or(CUT)?;
            let taken = if length < 64 {
                1 + usize::from(length)
            } else {
                1
            };
            let left = self.left.checked_sub(taken);
            self.left = left.ok_or(BadHeader("DNS name longer than 255 bytes"))?;
            match length {
                0 => return Ok(None),
                1..64 => {
                    let begin = self.at + 1;
                    self.at = begin + usize::from(length);
                    return Ok(Some(self.message.get(begin..self.at).ok_or(CUT)?));
                }
                0xC0.. => {
                    let low = *self.message.get(self.at + 1).ok_or(CUT)?;
                    self.at = usize::from(length & 0x3F) << 8 | usize::from(low);
                }
                _ => return Err(BadHeader("DNS name with a label of an unknown kind")),
            }
        }
    }
}

/// Walks strings, each behind a byte with its length; the walk ends at one that is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a>(pub &'a [u8]);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (&length, rest) = self.0.split_first()?;
        let (string, rest) = rest.split_at_checked(length.into())?;
        self.0 = rest;
        Some(string)
    }
}

/// Appends a question for records of a type, with recursion desired.
///
/// # Errors
/// When the name has a label that is empty or longer than 63 bytes, or more than 255 bytes in all.
pub fn query(id: u16, name: &str, kind: u16, out: &mut Vec<u8>) -> Result<(), BadHeader> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let fits = name.is_empty()
        || name.len() <= 253 && name.split('.').all(|label| (1..64).contains(&label.len()));
    if !fits {
        return Err(BadHeader(
            "a DNS name has labels of 1 to 63 bytes, 253 together",
        ));
    }
    for number in [id, 0x0100, 1, 0, 0, 0] {
        out.extend(number.to_be_bytes());
    }
    for label in name.split('.').filter(|label| !label.is_empty()) {
        out.push(label.len() as u8);
        out.extend(label.as_bytes());
    }
    out.push(0);
    out.extend(kind.to_be_bytes());
    out.extend([0, 1]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use std::format;

    /// An answer of the kind a server gives: names point back.
    fn answer() -> Vec<u8> {
        let mut message = Vec::new();
        query(0x1234, "www.example.org", kind::A, &mut message).unwrap();
        message[2..4].copy_from_slice(&[0x81, 0x83]);
        message[7] = 3;
        message.extend(b"\xC0\x0C\0\x05\0\x01\0\0\0\x3C\0\x06\x03web\xC0\x10");
        message.extend(b"\xC0\x2D\0\x01\0\x01\0\0\0\x3C\0\x04\x0A\0\0\x01");
        message.extend(b"\xC0\x10\0\x10\0\x01\0\0\0\x3C\0\x06\x02hi\x02\x00.");
        message
    }

    fn told(message: &[u8]) -> Vec<String> {
        let view = DnsView::new(message).unwrap();
        let data = |record: Record<'_>| match record.data {
            Data::A(address) => address.to_string(),
            Data::Name(name) => name.to_string(),
            Data::Txt(strings) => format!("{:?}", strings.collect::<Vec<_>>()),
            other => format!("{other:?}"),
        };
        view.records()
            .map(|record| format!("{} {}", record.name, data(record)))
            .collect()
    }

    #[test]
    fn questions_and_answers_with_pointers_are_read() {
        let message = answer();
        let view = DnsView::new(&message).unwrap();
        assert_eq!((view.id(), view.is_response()), (0x1234, true));
        assert_eq!((view.opcode(), view.rcode()), (0, 3));
        let question = view.questions().next().unwrap();
        assert_eq!(question.name.to_string(), "www.example.org");
        assert_eq!((question.kind, question.class), (kind::A, 1));
        assert_eq!(
            told(&message),
            [
                "www.example.org web.example.org",
                "web.example.org 10.0.0.1",
                "example.org [[104, 105], [0, 46]]"
            ]
        );
    }

    #[test]
    fn a_message_that_is_cut_off_tells_what_is_there() {
        let message = answer();
        for length in 12..message.len() {
            assert!(told(&message[..length]).len() < 3);
        }
        assert!(DnsView::new(&message[..11]).is_err());
        assert_eq!(told(&message[..message.len() - 1]).len(), 2);
    }

    #[test]
    fn pointers_in_a_circle_come_to_an_end() {
        let mut message = answer();
        message[12..14].copy_from_slice(&[0xC0, 0x0C]);
        let view = DnsView::new(&message).unwrap();
        assert_eq!((view.questions().count(), view.records().count()), (0, 0));
    }

    #[test]
    fn characters_that_names_do_not_have_are_escaped() {
        let name = Name {
            message: b"\x03a.\n\x01\\\0",
            at: 0,
        };
        assert_eq!(name.to_string(), r"a\.\010.\\");
        assert_eq!(
            Name {
                message: b"\0",
                at: 0
            }
            .to_string(),
            "."
        );
    }

    #[test]
    fn a_name_that_no_message_holds_is_refused() {
        for name in ["a..b", &"a".repeat(64), &"a.".repeat(130)] {
            assert!(query(1, name, 1, &mut Vec::new()).is_err(), "{name}");
        }
        let mut root = Vec::new();
        query(1, ".", kind::NS, &mut root).unwrap();
        assert_eq!(root.len(), 17);
    }
}
