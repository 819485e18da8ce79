//! The keys that say what a link is like.

use crate::fault::Fault;
use crate::fields::{Fields, Text};
use node::{Channel, Probability, QueueLimit, Rate, Time};
use serde::Deserialize;
use std::str::FromStr;

/// The widest inter-frame gap that a link may keep, bytes.
const MOST_GAP: u32 = 1_000_000;

/// Reads the keys of a channel, each of which may be left out, over what `base` says.
pub(crate) fn read(fields: &mut Fields<'_>, base: &Channel, faults: &mut Vec<Fault>) -> Channel {
    let mut channel = base.clone();
    if let Some(Text(RateLimit(rate))) = fields.optional("rate", faults) {
        channel.rate = rate;
    }
    if let Some(Gap(gap)) = fields.optional("gap", faults) {
        channel.gap = gap;
    }
    if let Some(Text(delay)) = fields.optional::<Text<Time>>("delay", faults) {
        channel.delay = delay;
    }
    if let Some(Text(Queue(queue))) = fields.optional("queue", faults) {
        channel.queue = queue;
    }
    for (key, chance) in [
        ("loss", &mut channel.loss),
        ("duplicate", &mut channel.duplicate),
        ("reorder", &mut channel.reorder),
    ] {
        if let Some(Chance(asked)) = fields.optional(key, faults) {
            *chance = asked;
        }
    }
    if let Some(Text(held_up)) = fields.optional::<Text<Time>>("reorder_by", faults) {
        channel.reorder_by = held_up;
    }
    if let Some(BitError(bit_error)) = fields.optional("bit_error", faults) {
        channel.bit_error = bit_error;
    }
    if let Some(times) = fields.optional::<Vec<[Text<Time>; 2]>>("down", faults) {
        channel.down = times.into_iter().map(|pair| pair.map(|at| at.0)).collect();
    }
    if channel.reorder != Probability::default()
        && channel.reorder_by == Time::ZERO
        && let Some(value) = fields.value("reorder")
    {
        let message = "frames are held up for no time at all, so none is overtaken";
        let fault = Fault::new(value.span.clone(), message);
        faults.push(fault.help("say for how long: `reorder_by = \"10 us\"`"));
    }
    channel
}

struct RateLimit(Option<Rate>);

impl FromStr for RateLimit {
    type Err = String;
    fn from_str(text: &str) -> Result<RateLimit, String> {
        if text.trim() == "unlimited" {
            return Ok(RateLimit(None));
        }
        let rate = text.parse::<Rate>().map_err(|error| match error {
            node::time::QuantityError::Range(_) => {
                "a rate is at least 1 b/s, in whole bits a second; for a link on which a frame \
                 takes no time write \"unlimited\""
                    .to_string()
            }
            other => other.to_string(),
        })?;
        Ok(RateLimit(Some(rate)))
    }
}

struct Queue(QueueLimit);

impl FromStr for Queue {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Queue, &'static str> {
        const WANTED: &str =
            "a queue is so many packets or bytes, such as \"1000 packets\" or \"512 kB\"";
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '_')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number = number.replace('_', "").parse::<u64>();
        let number = number.map_err(|_| WANTED)?;
        let scale = match unit.trim() {
            "packet" | "packets" | "frame" | "frames" => 0,
            "B" | "byte" | "bytes" => 1,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            _ => return Err(WANTED),
        };
        let limit = match scale {
            0 => QueueLimit::Packets(u32::try_from(number).unwrap_or(u32::MAX)),
            scale => QueueLimit::Bytes(number.saturating_mul(scale)),
        };
        if limit.is_zero() {
            return Err("a queue of 0 holds no frame; give it room for at least one");
        }
        Ok(Queue(limit))
    }
}

#[derive(Deserialize)]
#[serde(try_from = "i64")]
struct Gap(u32);

impl TryFrom<i64> for Gap {
    type Error = &'static str;
    fn try_from(bytes: i64) -> Result<Gap, &'static str> {
        let gap = u32::try_from(bytes).ok().filter(|gap| *gap <= MOST_GAP);
        let wanted = "a gap is from 0 to 1,000,000 bytes; the standard's is 12";
        gap.map(Gap).ok_or(wanted)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Chance(Probability);

impl TryFrom<f64> for Chance {
    type Error = &'static str;
    fn try_from(p: f64) -> Result<Chance, &'static str> {
        let chance = Probability::new(p).map(Chance);
        chance.ok_or("a probability is from 0 (never) to 1 (always)")
    }
}

#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct BitError(f64);

impl TryFrom<f64> for BitError {
    type Error = &'static str;
    fn try_from(p: f64) -> Result<BitError, &'static str> {
        let ratio = (0.0..1.0).contains(&p).then_some(BitError(p));
        ratio.ok_or("a bit error ratio is at least 0 and below 1, such as 1e-9")
    }
}
