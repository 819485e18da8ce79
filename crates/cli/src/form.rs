//! How packets are written: lines, records, text for people, JSON.

use crate::fields::has_ports;
use packet::describe::Payload;
use packet::{BadLength, Packet, Tick, flow, line, record};
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
}

/// A form, chosen.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Text lines (FORMATS section 1).
    Lines(line::Form),
    /// Binary records (FORMATS section 2).
    Records,
    /// For people.
    Text,
    /// JSON Lines.
    Json,
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
            FormOptions { text: true, .. } => Form::Text,
            FormOptions { json: true, .. } => Form::Json,
            _ => Form::Lines(line::Form {
                time: !self.no_time,
                hash: self.hash,
            }),
        }
    }
}

impl Form {
    /// Appends a packet. `tick` is the unit of its word.
    ///
    /// # Errors
    /// When the frame has a length that no format carries.
    #[inline]
    pub fn append(
        self,
        packet: &Packet<'_>,
        tick: Tick,
        out: &mut Vec<u8>,
    ) -> Result<(), BadLength> {
        match self {
            Form::Lines(form) => line::encode(packet, form, out),
            Form::Records => record::encode(packet, out),
            Form::Text => {
                text(packet, tick, out);
                Ok(())
            }
            Form::Json => {
                json(packet, tick, out);
                Ok(())
            }
        }
    }
}

/// `12.345678904 001122334455 > 66778899AABB 60 bytes: 10.0.0.1:53 > 10.0.0.2:4096 UDP, 18 bytes`.
fn text(packet: &Packet<'_>, tick: Tick, out: &mut Vec<u8>) {
    let ns = tick.ps(packet.word.unwrap_or(0)) / 1_000;
    let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let [dst, src, _] = ether(packet.bytes);
    let (len, told) = (packet.bytes.len(), Payload(packet.bytes));
    // Writing to a Vec does not fail.
    let _ = writeln!(out, "{seconds}.{ns:09} {src} > {dst} {len} bytes: {told}");
}

/// An object with the word and its nanoseconds, the header's fields and all bytes in hexadecimal.
fn json(packet: &Packet<'_>, tick: Tick, out: &mut Vec<u8>) {
    let word = packet.word.unwrap_or(0);
    let ns = tick.ps(word) / 1_000;
    let hash = packet.hash.unwrap_or_else(|| flow::hash(packet.bytes));
    let [dst, src, ethertype] = ether(packet.bytes);
    let len = packet.bytes.len();
    let _ = write!(
        out,
        r#"{{"schema":1,"type":"packet","word":"{word:016X}","ns":{ns},"hash":"{hash:08X}","dst":"{dst}","src":"{src}","ethertype":"{ethertype}","length":{len}"#
    );
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
