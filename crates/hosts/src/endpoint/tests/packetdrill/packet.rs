//! Packets as scripts write them.

use super::reader::{Reader, Stop};
use packet::ecn::{CE, ECT_0, ECT_1, NOT_ECT};
use packet::tcp::flag::{ACK, CWR, ECE, FIN, PSH, RST, SYN, URG};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Bytes of data in a packet at most: Linux sends many segments as one.
const MAX_DATA: u32 = 1 << 20;

/// A packet that arrives or leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    Segment(Segment),
    /// A router reports that a segment was too long for a link with this MTU.
    TooBig {
        mtu: usize,
        sequence: u32,
    },
}

/// A TCP segment. Sequence numbers are the script's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Codepoint of its packet; `None` where the script does not say.
    pub codepoint: Option<u8>,
    pub flags: u8,
    /// The three bits AE, CWR and ECE, where the script has them as a number.
    pub ace: Option<u8>,
    /// The bit AE.
    pub is_accurate: bool,
    pub sequence: u32,
    pub length: u32,
    pub acknowledgement: u32,
    pub window: Option<u16>,
    /// `None` for `<...>`: any.
    pub options: Option<Vec<TcpOption>>,
}

impl Segment {
    /// The bits AE, CWR and ECE as a number.
    pub fn bits(&self) -> u8 {
        let bit = |flag: u8, bit: u8| if self.flags & flag == 0 { 0 } else { bit };
        let flags = bit(ECE, 1) | bit(CWR, 2) | if self.is_accurate { 4 } else { 0 };
        self.ace.unwrap_or(flags)
    }
}

/// An option of TCP; those without a meaning are not among them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TcpOption {
    Mss(u16),
    Scale(u8),
    SackPermitted,
    Sack(Vec<(u32, u32)>),
    Stamps(u32, u32),
    /// Accurate ECN: counts of ECT(0), CE and ECT(1), as far as they are there.
    Counts([Option<u32>; 3]),
    /// Another one, by its kind.
    Other(u8),
}

impl Packet {
    /// Reads a packet, from `<` or `>` on.
    pub fn read(reader: &mut Reader<'_>) -> Result<Packet, Stop> {
        if !reader.eat("<") {
            reader.expect(">")?;
        }
        reader.skip_spaces();
        if reader.eat("icmp") {
            return too_big(reader);
        }
        let mut codepoint = None;
        if reader.eat("[") {
            let words = reader.take_until("]")?;
            codepoint = Some(match words.trim() {
                "noecn" => NOT_ECT,
                "ect0" => ECT_0,
                "ect1" => ECT_1,
                "ce" => CE,
                other => return Err(not_in_subset(reader, &format!("IP header [{other}]"))),
            });
        }
        reader.skip_spaces();
        let mut segment = flags(reader)?;
        segment.codepoint = codepoint;
        reader.skip_spaces();
        let (from, length) = numbers(reader)?;
        (segment.sequence, segment.length) = (from, length);
        loop {
            reader.skip_spaces();
            if reader.eat("ack") {
                reader.skip_spaces();
                segment.acknowledgement = reader.number()?;
            } else if reader.eat("win") {
                reader.skip_spaces();
                segment.window = Some(reader.number()?);
            } else if reader.eat("urg") {
                return Err(not_in_subset(reader, "urgent data"));
            } else if reader.eat("<") {
                segment.options = options(reader)?;
            } else {
                break;
            }
        }
        let is_end = reader.is_done() || reader.rest().starts_with(['\n', '\r', '/']);
        match is_end {
            true => Ok(Packet::Segment(segment)),
            false => Err(reader.stop("more than `ack`, `win` and options behind a segment")),
        }
    }
}

pub fn not_in_subset(reader: &Reader<'_>, what: &str) -> Stop {
    reader.stop(format!("not in the subset: {what}"))
}

fn flags(reader: &mut Reader<'_>) -> Result<Segment, Stop> {
    let mut segment = Segment {
        codepoint: None,
        flags: 0,
        ace: None,
        is_accurate: false,
        sequence: 0,
        length: 0,
        acknowledgement: 0,
        window: None,
        options: Some(Vec::new()),
    };
    let letters = reader.take_while(|c| !c.is_whitespace());
    for letter in letters.chars() {
        match letter {
            'S' => segment.flags |= SYN,
            'F' => segment.flags |= FIN,
            'R' => segment.flags |= RST,
            'P' => segment.flags |= PSH,
            '.' => segment.flags |= ACK,
            'U' => segment.flags |= URG,
            'E' => segment.flags |= ECE,
            'W' => segment.flags |= CWR,
            'A' => segment.is_accurate = true,
            '0'..='7' => segment.ace = Some(letter as u8 - b'0'),
            '-' => {}
            _ => return Err(not_in_subset(reader, &format!("packets of `{letters}`"))),
        }
    }
    Ok(segment)
}

/// `from:to(length)`: the first number, and the length.
fn numbers(reader: &mut Reader<'_>) -> Result<(u32, u32), Stop> {
    let from: u32 = reader.number()?;
    if !reader.eat(":") {
        return Err(not_in_subset(reader, "a segment with ports"));
    }
    let to: u32 = reader.number()?;
    reader.expect("(")?;
    let length: u32 = reader.number()?;
    reader.expect(")")?;
    if to.wrapping_sub(from) != length || length > MAX_DATA {
        return Err(reader.stop("sequence numbers and length do not agree, or are too far apart"));
    }
    Ok((from, length))
}

fn too_big(reader: &mut Reader<'_>) -> Result<Packet, Stop> {
    let (mut mtu, mut sequence, mut is_too_big) = (None, 0, false);
    loop {
        reader.skip_spaces();
        if reader.eat("[") {
            sequence = numbers(reader)?.0;
            reader.expect("]")?;
            continue;
        }
        match reader.word() {
            "" => break,
            "unreachable" => {}
            "frag_needed" | "packet_too_big" => is_too_big = true,
            "mtu" => {
                reader.skip_spaces();
                mtu = Some(reader.number()?);
            }
            other => return Err(not_in_subset(reader, &format!("ICMP {other}"))),
        }
    }
    match (mtu, is_too_big) {
        (Some(mtu), true) => Ok(Packet::TooBig { mtu, sequence }),
        _ => Err(not_in_subset(reader, "ICMP unreachable")),
    }
}

/// Options behind `<`; `None` for any.
fn options(reader: &mut Reader<'_>) -> Result<Option<Vec<TcpOption>>, Stop> {
    let mut options = Vec::new();
    let text = reader.take_until(">")?;
    if text.trim() == "..." {
        return Ok(None);
    }
    for option in text.split(',').map(str::trim) {
        let mut words = option.split_whitespace();
        let broken = || reader.stop(format!("option `{option}` is broken"));
        let mut number = |name: Option<&str>| {
            if name.is_some() && words.next() != name {
                return None;
            }
            words.next()?.parse::<u32>().ok()
        };
        let read = match option.split_whitespace().next().unwrap_or_default() {
            "nop" | "eol" | "" => continue,
            "sackOK" => Some(TcpOption::SackPermitted),
            "mss" => number(Some("mss"))
                .and_then(|mss| u16::try_from(mss).ok())
                .map(TcpOption::Mss),
            "wscale" => number(Some("wscale"))
                .and_then(|scale| u8::try_from(scale).ok())
                .map(TcpOption::Scale),
            "TS" => {
                words.next();
                let mut number = |name| {
                    let is_named = words.next() == Some(name);
                    words.next().filter(|_| is_named)?.parse::<u32>().ok()
                };
                number("val")
                    .zip(number("ecr"))
                    .map(|(val, ecr)| TcpOption::Stamps(val, ecr))
            }
            "sack" => {
                words.next();
                blocks(words).map(TcpOption::Sack)
            }
            "ECN" => {
                words.next();
                counts(words).map(TcpOption::Counts)
            }
            "FO" | "FOEXP" => Some(TcpOption::Other(34)),
            "md5" => Some(TcpOption::Other(19)),
            other => return Err(not_in_subset(reader, &format!("option {other}"))),
        };
        options.push(read.ok_or_else(broken)?);
    }
    options.sort();
    Ok(Some(options))
}

fn blocks<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<(u32, u32)>> {
    let blocks = words.map(|block| {
        let (from, to) = block.split_once(':')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    });
    let blocks: Option<Vec<(u32, u32)>> = blocks.collect();
    blocks.filter(|blocks| (1..=4).contains(&blocks.len()))
}

fn counts<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<[Option<u32>; 3]> {
    let mut counts = [None; 3];
    while let Some(name) = words.next() {
        let place = ["e0b", "ceb", "e1b"]
            .iter()
            .position(|other| *other == name)?;
        counts[place] = Some(words.next()?.parse().ok()?);
    }
    Some(counts)
}

/// A segment in the script's language, for a message.
pub fn describe(segment: &Segment) -> String {
    let flags = [
        (SYN, 'S'),
        (FIN, 'F'),
        (RST, 'R'),
        (PSH, 'P'),
        (ACK, '.'),
        (URG, 'U'),
    ];
    let letters = flags.iter().filter(|(flag, _)| segment.flags & flag != 0);
    let letters: String = letters.map(|(_, letter)| *letter).collect();
    let codepoint = match segment.codepoint {
        None => "",
        Some(NOT_ECT) => "[noecn] ",
        Some(ECT_0) => "[ect0] ",
        Some(ECT_1) => "[ect1] ",
        Some(_) => "[ce] ",
    };
    let (from, length) = (segment.sequence, segment.length);
    let mut text = format!("{codepoint}{letters}{} ", segment.bits());
    text += &format!("{from}:{}({length})", from.wrapping_add(length));
    if segment.flags & ACK != 0 {
        text += &format!(" ack {}", segment.acknowledgement);
    }
    if let Some(window) = segment.window {
        text += &format!(" win {window}");
    }
    for option in segment.options.iter().flatten() {
        text += &match option {
            TcpOption::Mss(mss) => format!(" mss {mss}"),
            TcpOption::Scale(scale) => format!(" wscale {scale}"),
            TcpOption::SackPermitted => " sackOK".to_string(),
            TcpOption::Sack(blocks) => format!(" sack {blocks:?}"),
            TcpOption::Stamps(val, ecr) => format!(" TS val {val} ecr {ecr}"),
            TcpOption::Counts(counts) => format!(" ECN {counts:?}"),
            TcpOption::Other(kind) => format!(" option {kind}"),
        };
    }
    text
}
