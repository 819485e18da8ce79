//! Conversion of live segments to the script's numbers, and comparison with the expected segments.

use super::super::super::Endpoint;
use super::packet::{Segment, TcpOption};
use super::settings::Settings;
use ip::header;
use node::Frame;
use packet::ecn::{ECT_0, ECT_1, NOT_ECT};
use packet::tcp::TcpView;
use packet::tcp::flag::{ACK, CWR, ECE, FIN, PSH, RST, SYN, URG};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Kinds of accurate ECN's option: with the bytes that came as ECT(0) first, and with those as ECT(1) first.
const COUNTS: [u8; 2] = [172, 174];

/// Live numbers of a connection, and the script's, which begin with 0.
pub struct Mapping {
    /// The own first number, once it has left.
    first: Option<u32>,
    /// Added to the far end's numbers.
    offset: u32,
    /// The script's first timestamp and the live one.
    stamp: Option<(u32, u32)>,
    /// The highest number that has left, in the script's numbers.
    highest: u32,
    /// Timestamps that left by what the script calls them.
    stamps: Vec<(u32, u32)>,
}

impl Mapping {
    pub fn new(offset: u32) -> Mapping {
        Mapping {
            first: None,
            offset,
            stamp: None,
            highest: 0,
            stamps: Vec::new(),
        }
    }

    /// The live number of the own end for one of the script.
    pub fn own(&self, number: u32) -> u32 {
        self.first.unwrap_or(0).wrapping_add(number)
    }

    /// The live number of the far end for one of the script.
    pub fn far(&self, number: u32) -> u32 {
        number.wrapping_add(self.offset)
    }

    /// The script's number of the end of what the program has written.
    pub fn written(&self, end: &Endpoint) -> u32 {
        let sender = end.sender();
        let queued = sender.first().wrapping_add(sender.queued() as u32);
        queued.wrapping_sub(self.first.unwrap_or(0))
    }

    /// Notes that data before this number of the script has left; `true` if none from there on had.
    pub fn note_end(&mut self, end: u32) -> bool {
        let is_new = (end.wrapping_sub(self.highest) as i32) > 0;
        if is_new {
            self.highest = end;
        }
        is_new
    }

    /// A live segment in the script's numbers.
    pub fn segment(&mut self, frame: &Frame) -> Result<Segment, String> {
        let read = header::read(frame).ok_or("a broken packet left")?;
        if !header::is_valid(frame, &read) {
            return Err("a packet with a wrong checksum left".to_string());
        }
        let view = TcpView::new(&frame[read.payload..read.end]);
        let view = view.map_err(|error| format!("a broken segment left: {error}"))?;
        let flags = view.flags();
        if flags & SYN != 0 {
            self.first = self.first.or(Some(view.sequence()));
        }
        let acknowledgement = view.acknowledgement().wrapping_sub(self.offset);
        let mut options: Vec<TcpOption> = view.options().map(|option| self.read(option)).collect();
        options.sort();
        Ok(Segment {
            codepoint: Some(read.ecn),
            flags: flags & !(ECE | CWR),
            ace: Some(super::super::super::ecn::ace(
                flags,
                view.reserved() & 1 != 0,
            )),
            is_accurate: false,
            sequence: view.sequence().wrapping_sub(self.first.unwrap_or(0)),
            length: view.payload().len() as u32,
            acknowledgement: if flags & ACK == 0 { 0 } else { acknowledgement },
            window: Some(view.window()),
            options: Some(options),
        })
    }

    fn read(&self, option: packet::tcp::TcpOption<'_>) -> TcpOption {
        use packet::tcp::TcpOption as Live;
        let own = |edge: [u8; 4]| u32::from_be_bytes(edge).wrapping_sub(self.offset);
        match option {
            Live::MaximumSegment(mss) => TcpOption::Mss(mss),
            Live::WindowScale(scale) => TcpOption::Scale(scale),
            Live::SackPermitted => TcpOption::SackPermitted,
            Live::Timestamps(val, ecr) => TcpOption::Stamps(val, ecr),
            Live::Sack(blocks) => {
                let pair =
                    |&[a, b, c, d, e, f, g, h]: &[u8; 8]| (own([a, b, c, d]), own([e, f, g, h]));
                TcpOption::Sack(blocks.iter().map(pair).collect())
            }
            Live::Other(kind, value) if COUNTS.contains(&kind) => {
                let mut counts = [None; 3];
                for (index, field) in value.chunks_exact(3).take(3).enumerate() {
                    let place = if kind == COUNTS[0] { index } else { 2 - index };
                    let [a, b, c] = [field[0], field[1], field[2]];
                    counts[place] = Some(u32::from_be_bytes([0, a, b, c]));
                }
                TcpOption::Counts(counts)
            }
            Live::Other(kind, _) => TcpOption::Other(kind),
        }
    }

    /// The bytes of an option that arrives.
    pub fn option(&mut self, option: &TcpOption, flags: u8) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        match option {
            TcpOption::Mss(mss) => {
                bytes.extend([2, 4]);
                bytes.extend(mss.to_be_bytes());
            }
            TcpOption::Scale(scale) => bytes.extend([3, 3, *scale]),
            TcpOption::SackPermitted => bytes.extend([4, 2]),
            TcpOption::Sack(blocks) => {
                bytes.extend([5, 2 + 8 * blocks.len() as u8]);
                for (from, to) in blocks {
                    bytes.extend(self.own(*from).to_be_bytes());
                    bytes.extend(self.own(*to).to_be_bytes());
                }
            }
            TcpOption::Stamps(val, ecr) => {
                let ecr = if flags & ACK == 0 { 0 } else { self.echo(*ecr) };
                bytes.extend([8, 10]);
                bytes.extend(val.to_be_bytes());
                bytes.extend(ecr.to_be_bytes());
            }
            TcpOption::Counts([zero, marked, one]) => {
                let fields = [zero, marked, one].map(|count| count.unwrap_or(0));
                bytes.extend([COUNTS[0], 11]);
                for field in fields {
                    bytes.extend(&field.to_be_bytes()[1..]);
                }
            }
            TcpOption::Other(34) => return Err("not in the subset: fast open".to_string()),
            TcpOption::Other(kind) => return Err(format!("not in the subset: option {kind}")),
        }
        Ok(bytes)
    }

    /// The live timestamp for what the script calls it.
    fn echo(&self, script: u32) -> u32 {
        let known = self.stamps.iter().rev().find(|(name, _)| *name == script);
        match (known, self.stamp) {
            (Some((_, live)), _) => *live,
            (None, Some((first, live))) => live.wrapping_add(script.wrapping_sub(first)),
            (None, None) => script,
        }
    }

    /// Compares the timestamps of a segment that left, and notes what the script calls its own; `tolerance` is in ticks of the own clock,
    /// `None` where the script does not count in these.
    pub fn stamps_differ(
        &mut self,
        left: &Segment,
        wanted: &Segment,
        tolerance: Option<u64>,
    ) -> Option<String> {
        let (live, echoed) = stamps(left.options.as_deref()?)?;
        let (script, echo) = stamps(wanted.options.as_deref()?)?;
        let (first, base) = *self.stamp.get_or_insert((script, live));
        self.stamps.push((script, live));
        let shown = first.wrapping_add(live.wrapping_sub(base));
        let off = u64::from((shown.wrapping_sub(script) as i32).unsigned_abs());
        if tolerance.is_some_and(|tolerance| off > tolerance) {
            return Some(format!("timestamp {shown}"));
        }
        (echoed != echo).then(|| "echoed timestamp".to_string())
    }
}

/// The two timestamps among options.
fn stamps(options: &[TcpOption]) -> Option<(u32, u32)> {
    options.iter().find_map(|option| match option {
        TcpOption::Stamps(val, ecr) => Some((*val, *ecr)),
        _ => None,
    })
}

/// Whether the codepoint is the one that the script wants. Of accurate ECN's packets those with new data are capable here, and all are with
/// Linux (decision 0188).
fn has_codepoint(left: &Segment, wanted: u8, is_new: bool) -> bool {
    let is_incapable = left.codepoint == Some(NOT_ECT) && (left.length == 0 || !is_new);
    left.codepoint == Some(wanted) || is_incapable && [ECT_0, ECT_1].contains(&wanted)
}

/// Difference between a sent segment and the expected one; `None` if there is none. `is_new`: it has not left before. `has_more`: the
/// program has written data behind it.
pub fn difference(
    left: &Segment,
    wanted: &Segment,
    (is_new, has_more): (bool, bool),
    settings: &Settings,
) -> Option<String> {
    const FLAGS: u8 = FIN | SYN | RST | ACK | URG;
    // Linux also sets PSH at the end of each write, and in the middle of long ones. RFC 9293 section 3.9.1.2 asks for it where no data
    // is left to be sent.
    let [has_push, wants_push] = [left, wanted].map(|segment| segment.flags & PSH != 0);
    let is_push_right = has_push == wants_push || wants_push && has_more;
    if (left.flags ^ wanted.flags) & FLAGS != 0 || !is_push_right {
        return Some("flags".to_string());
    }
    if left.bits() != wanted.bits() {
        return Some("ECN bits of the header".to_string());
    }
    if wanted
        .codepoint
        .is_some_and(|wanted| !has_codepoint(left, wanted, is_new))
    {
        return Some("ECN codepoint".to_string());
    }
    if left.sequence != wanted.sequence {
        return Some("sequence number".to_string());
    }
    if left.length != wanted.length {
        return Some("length".to_string());
    }
    if left.acknowledgement != wanted.acknowledgement {
        return Some("acknowledgement".to_string());
    }
    if wanted.window.is_some() && left.window != wanted.window {
        return Some("window".to_string());
    }
    let wanted = wanted.options.as_ref()?;
    // Stamps are compared apart. Of accurate ECN's counts acknowledgements without data have them here, and all segments with Linux
    // (decision 0188).
    let has_counts = settings.has_counts && left.length == 0;
    let compared = |options: &[TcpOption]| -> Vec<TcpOption> {
        let is_compared = |option: &&TcpOption| match option {
            TcpOption::Counts(_) => has_counts,
            TcpOption::Stamps(..) => false,
            _ => true,
        };
        options.iter().filter(is_compared).cloned().collect()
    };
    let left = left.options.as_deref().unwrap_or_default();
    let has_same_stamps = stamps(left).is_some() == stamps(wanted).is_some();
    (compared(left) != compared(wanted) || !has_same_stamps).then(|| "options".to_string())
}
