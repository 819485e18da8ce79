//! Packets of other forms of text: hex dumps, and JSON Lines of `wire cat --json`.

use crate::packets::{Consumer, Ended};
use crate::stream::{Pausing, Stream};
use crate::time::Moment;
use ::capture::file::{Item, Raw};
use ::capture::signal::{self, Stopped};
use anyhow::{Context, bail, ensure};
use packet::hexdump::Hexdump;
use packet::{Date, MAX_FRAME_LEN, MIN_FRAME_LEN};
use serde::Deserialize;
use std::io::{BufRead, BufReader, ErrorKind, Read};

/// Maximum line length, bytes: a packet in JSON with all its bytes.
const MAX_LINE_LEN: usize = 4 * MAX_FRAME_LEN;

/// A form of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Hex dumps of xxd, hexdump -C, od, tcpdump -xx, text2pcap
    Hex,
    /// JSON Lines of wire cat --json
    Json,
}

/// A line of `wire cat --json`; other keys say the same again.
#[derive(Deserialize)]
struct Object {
    schema: String,
    date: Option<String>,
    word: Option<String>,
    hash: Option<String>,
    original_length: Option<u32>,
    bytes: String,
}

/// A packet that was read.
#[derive(Default)]
struct Packet {
    word: Option<u64>,
    at_ps: Option<u128>,
    hash: Option<u32>,
    /// The length before a capture cut it short, if that is known.
    original_len: u32,
    bytes: Vec<u8>,
}

/// Gives all packets of a stream, which messages call so, to `consumer`.
///
/// # Errors
/// The first line that is not understood; those of reading and of the consumer.
pub fn copy(
    stream: Stream,
    name: &str,
    form: Form,
    consumer: &mut impl Consumer,
) -> anyhow::Result<Ended> {
    let mut reader = BufReader::new(Pausing::new(stream));
    let (mut line, mut number) = (Vec::new(), 0u64);
    let mut dump = Hexdump::default();
    let mut goes_on = true;
    while goes_on {
        if signal::stop_requested() {
            return Ok(Ended::Stopped);
        }
        line.clear();
        number += 1;
        let place = |number: u64| format!("{}:{number}", name);
        let whole = match read_line(&mut reader, &mut line, consumer) {
            Err(error) if error.downcast_ref::<std::io::Error>().is_some_and(is_stop) => {
                return Ok(Ended::Stopped);
            }
            whole => whole.with_context(|| place(number))?,
        };
        let text = str::from_utf8(&line).with_context(|| place(number))?;
        let mut trouble = Ok(());
        let mut give = |before: &str, bytes: &[u8]| {
            if goes_on && trouble.is_ok() {
                match date(before).and_then(|at_ps| give(consumer, at_ps, bytes)) {
                    Ok(more) => goes_on = more,
                    Err(error) => trouble = Err(error),
                }
            }
        };
        match form {
            Form::Hex if whole => dump.line(text, &mut give).with_context(|| place(number))?,
            Form::Hex => dump.finish(&mut give),
            Form::Json if text.trim().is_empty() => {}
            Form::Json => {
                let packet = object(text).with_context(|| place(number))?;
                goes_on = consumer.packet(&packet.item())?;
            }
        }
        trouble.with_context(|| format!("{}: the packet that ends before line {number}", name))?;
        if !whole {
            return Ok(Ended::End);
        }
    }
    Ok(Ended::Enough)
}

fn is_stop(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}

/// Reads a line with its end; whether there was one.
fn read_line(
    reader: &mut BufReader<Pausing>,
    line: &mut Vec<u8>,
    consumer: &mut impl Consumer,
) -> anyhow::Result<bool> {
    loop {
        let most = (MAX_LINE_LEN + 1 - line.len()) as u64;
        match reader.by_ref().take(most).read_until(b'\n', line) {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock => consumer.idle()?,
            Err(error) => return Err(error.into()),
        }
    }
    ensure!(
        line.len() <= MAX_LINE_LEN,
        "a line of more than {MAX_LINE_LEN} bytes"
    );
    Ok(!line.is_empty())
}

fn give(consumer: &mut impl Consumer, at_ps: Option<u128>, bytes: &[u8]) -> anyhow::Result<bool> {
    let length = bytes.len();
    ensure!(
        (MIN_FRAME_LEN..=MAX_FRAME_LEN).contains(&length),
        "a frame of {length} bytes, and lines carry {MIN_FRAME_LEN} to {MAX_FRAME_LEN}"
    );
    let packet = Packet {
        at_ps,
        bytes: bytes.to_vec(),
        ..Packet::default()
    };
    consumer.packet(&packet.item())
}

impl Packet {
    fn item(&self) -> Item<'_> {
        let whole = Item::of(&self.bytes);
        let original_len = self.original_len.max(whole.original_len);
        Item {
            word: self.word,
            at_ps: self.at_ps,
            hash: self.hash,
            original_len,
            raw: Raw {
                original_len,
                ..whole.raw
            },
            ..whole
        }
    }
}

/// The time that a line before a packet begins with: of a day, a date and a time, or seconds since 1970; none if it says something
/// else.
fn date(before: &str) -> anyhow::Result<Option<u128>> {
    let mut words = before.split_whitespace();
    let (Some(first), second) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let both = second.map(|second| format!("{first} {second}"));
    let moment = both
        .and_then(|both| both.parse().ok())
        .or_else(|| first.parse().ok());
    // A time of day is one of the first day there is.
    let moment = moment.or_else(|| format!("1970-01-01T{first}Z").parse().ok());
    match moment {
        Some(Moment::At(ps)) => {
            ensure!(
                Date::from_ps(ps).is_some(),
                "the date {before} is later than a date can be"
            );
            Ok(Some(ps))
        }
        _ => Ok(None),
    }
}

fn object(text: &str) -> anyhow::Result<Packet> {
    let object: Object = serde_json::from_str(text).context("no object of `wire cat --json`")?;
    let schema = packet::json::schema("packet");
    ensure!(
        object.schema == schema,
        "an object of {}, not of {schema}",
        object.schema
    );
    let number = |text: &str, digits: usize| match text.len() == digits {
        true => u128::from_str_radix(text, 16).ok(),
        false => None,
    };
    let part = |value: &Option<String>, name: &str, digits| match value {
        None => Ok(None),
        Some(text) => match number(text, digits) {
            Some(number) => Ok(Some(number)),
            None => bail!("`{name}` is {digits} hexadecimal digits, not `{text}`"),
        },
    };
    let digits = object.bytes.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let (pairs, rest) = digits.as_chunks();
    let bytes: Option<Vec<u8>> = pairs.iter().map(pair).collect();
    let bytes = bytes
        .filter(|bytes| rest.is_empty() && (MIN_FRAME_LEN..=MAX_FRAME_LEN).contains(&bytes.len()));
    Ok(Packet {
        at_ps: part(&object.date, "date", Date::DIGITS)?,
        word: part(&object.word, "word", 16)?.map(|word| word as u64),
        hash: part(&object.hash, "hash", 8)?.map(|hash| hash as u32),
        original_len: object.original_length.unwrap_or(0),
        bytes: bytes.with_context(|| {
            format!("`bytes` is {MIN_FRAME_LEN} to {MAX_FRAME_LEN} bytes in hexadecimal digits")
        })?,
    })
}
