//! How packets are written: lines, records, text for people, JSON.

use crate::fields::has_ports;
use crate::time::{Time, TimeForm, Times};
use ::capture::file::Item;
use packet::capture::Direction;
use packet::describe::Payload;
use packet::json::Head;
use packet::{Packet, Stamp, Tick, flow, line, printable, record};
use std::io::Write;

/// The form of packets on standard output.
#[derive(clap::Args)]
pub struct FormOptions {
    /// Binary records instead of lines
    #[arg(long, short, conflicts_with_all = ["no_time", "hash", "text", "json"])]
    raw: bool,
    /// Lines without the timestamp, so that field 1 is the destination
    #[arg(long, conflicts_with_all = ["text", "json"])]
    no_time: bool,
    /// Lines with the five-tuple hash
    #[arg(long, conflicts_with_all = ["text", "json"])]
    hash: bool,
    /// A line for people, which nothing reads back
    #[arg(long, conflicts_with = "json")]
    text: bool,
    /// One JSON object a packet
    #[arg(long)]
    json: bool,
    /// Of --text and --json: utc, local, relative, delta or boot
    #[arg(long, value_name = "FORM", hide_possible_values = true, conflicts_with_all = ["raw", "no_time", "hash"])]
    time: Option<TimeForm>,
}

/// A form, chosen.
#[derive(Debug)]
pub enum Form {
    /// Text lines (FORMATS section 1).
    Lines(line::Form),
    /// Binary records (FORMATS section 2).
    Records,
    /// For people.
    Text(Times),
    /// JSON Lines.
    Json(Times),
}

impl FormOptions {
    /// Whether it is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// The form that was asked for.
    pub fn form(&self) -> Form {
        match self {
            FormOptions { raw: true, .. } => Form::Records,
            FormOptions { json: true, .. } => Form::Json(Times::new(self.time)),
            FormOptions { text: true, .. } => Form::Text(Times::new(self.time)),
            // Times for people are asked for.
            FormOptions { time: Some(_), .. } => Form::Text(Times::new(self.time)),
            _ => Form::Lines(line::Form {
                time: !self.no_time,
                hash: self.hash,
            }),
        }
    }
}

/// Metadata of a packet: all but its bytes and its time.
#[derive(Default)]
pub struct Extra<'a> {
    /// The interface by which it came or went, where the direction is known.
    seen: Option<(&'a str, Direction)>,
    /// Its length before the capture cut it short.
    original_len: Option<u32>,
}

impl<'a> Extra<'a> {
    /// That of a packet of a capture or a port.
    pub fn of(item: &Item<'a>) -> Extra<'a> {
        let direction = item.options.direction();
        let name = item.described().map(|of| of.name.as_str());
        let is_cut = item.original_len as usize > item.bytes.len();
        Extra {
            seen: name.zip(direction),
            original_len: is_cut.then_some(item.original_len),
        }
    }
}

impl Form {
    /// Appends a packet. `tick` is the unit of its word.
    ///
    /// # Errors
    /// When the frame has a length that no format carries, or the packet no time in the form that is asked for.
    #[inline]
    pub fn append(
        &mut self,
        packet: &Packet<'_>,
        tick: Tick,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        self.append_with(packet, tick, Extra::default, out)
    }

    /// The same of one of which `extra` has more, which is asked only where that is written.
    ///
    /// # Errors
    /// As those of [`append`](Form::append).
    #[inline]
    pub fn append_with<'a>(
        &mut self,
        packet: &Packet<'_>,
        tick: Tick,
        extra: impl FnOnce() -> Extra<'a>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        match self {
            Form::Lines(form) => line::encode(packet, *form, out)?,
            Form::Records => record::encode(packet, out)?,
            Form::Text(times) => text(packet, &times.next(packet.stamp, tick)?, &extra(), out),
            Form::Json(times) => json(packet, tick, times, &extra(), out)?,
        }
        Ok(())
    }
}

/// `12.345678904 001122334455 > 66778899AABB 60 bytes: 10.0.0.1:53 > 10.0.0.2:4096 UDP, 18 bytes`; behind the time `eth0 in`
/// where that is known, and `60 of 1514 bytes` of a packet that was cut short.
fn text(packet: &Packet<'_>, time: &Time<'_>, extra: &Extra<'_>, out: &mut Vec<u8>) {
    let [dst, src, _] = ether(packet.bytes);
    let (len, told) = (packet.bytes.len(), Payload(packet.bytes));
    // Writing to a Vec does not fail.
    let _ = write!(out, "{time} ");
    if let Some((interface, direction)) = extra.seen {
        let _ = write!(out, "{} {} ", printable::word(interface), direction.name());
    }
    let _ = write!(out, "{src} > {dst} {len} ");
    if let Some(original) = extra.original_len {
        let _ = write!(out, "of {original} ");
    }
    let _ = writeln!(out, "bytes: {told}");
}

/// An object with the date, or the word and its nanoseconds; the time as people read it, the header's fields, and all
/// bytes in hexadecimal.
fn json(
    packet: &Packet<'_>,
    tick: Tick,
    times: &mut Times,
    extra: &Extra<'_>,
    out: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let time = match times.next(packet.stamp, tick)? {
        time if time.is_number() => time.to_string(),
        time => format!(r#""{time}""#),
    };
    let stamp = match packet.stamp.unwrap_or(Stamp::Word(0)) {
        // A number of JSON may lose digits.
        Stamp::Date(date) => format!(r#""date":"{0:020X}","ps":"{0}""#, date.as_ps()),
        Stamp::Word(word) => format!(r#""word":"{word:016X}","ns":{}"#, tick.ps(word) / 1_000),
    };
    let hash = packet.hash.unwrap_or_else(|| flow::hash(packet.bytes));
    let [dst, src, ethertype] = ether(packet.bytes);
    let len = packet.bytes.len();
    let head = Head {
        what: "packet",
        kind: "packet",
    };
    let _ = write!(
        out,
        r#"{head},{stamp},"time":{time},"hash":"{hash:08X}","dst":"{dst}","src":"{src}","ethertype":"{ethertype}","length":{len}"#
    );
    if let Some(original) = extra.original_len {
        let _ = write!(out, r#","original_length":{original}"#);
    }
    if let Some((interface, direction)) = extra.seen {
        let name = serde_json::Value::from(interface);
        let _ = write!(
            out,
            r#","interface":{name},"direction":"{}""#,
            direction.name()
        );
    }
    if let Some(tuple) = flow::five_tuple(packet.bytes) {
        let (source, destination) = (tuple.source, tuple.destination);
        let protocol = tuple.protocol;
        let _ = write!(
            out,
            r#","ip":{{"src":"{source}","dst":"{destination}","proto":{protocol}"#
        );
        if has_ports(protocol) {
            let (source, destination) = (tuple.source_port, tuple.destination_port);
            let _ = write!(out, r#","sport":{source},"dport":{destination}"#);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"bytes\":\"");
    out.extend(hex(packet.bytes));
    out.extend_from_slice(b"\"}\n");
    Ok(())
}

/// Destination, source and EtherType as a line has them.
fn ether(bytes: &[u8]) -> [String; 3] {
    let part = |range| {
        let bytes = bytes.get(range).unwrap_or_default();
        hex(bytes).map(char::from).collect()
    };
    [part(0..6), part(6..12), part(12..14)]
}

fn hex(bytes: &[u8]) -> impl Iterator<Item = u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digits = |byte: &u8| {
        [
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]
    };
    bytes.iter().flat_map(digits)
}
