//! The keys that say what a link is like.

pub(crate) mod pauses;

use crate::fault::Fault;
use crate::fields::Fields;
use crate::tree::{Value, What};
use node::{Channel, Probability, QuantityError, QueueLimit, Rate, Size, Time};
use serde::Deserialize;
use serde::de::value::{Error as Refused, MapDeserializer};
use std::str::FromStr;

/// Maximum inter-frame gap of a link, bytes.
const MAX_GAP: u32 = 1_000_000;

/// One direction of a link, as a file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub channel: Channel,
    /// The queue discipline; `None` for a FIFO with the channel's limit.
    pub discipline: Option<queue::Config>,
    /// Pauses that the receiver sends; `None` for none.
    pub pause: Option<queue::pause::Config>,
}

/// Reads the keys of a channel, each of which may be left out, over what `base` says.
pub(crate) fn read(fields: &mut Fields<'_>, base: &Settings, faults: &mut Vec<Fault>) -> Settings {
    let Settings {
        mut channel,
        mut discipline,
        mut pause,
    } = base.clone();
    if let Some(RateLimit(rate)) = fields.optional("rate", faults) {
        channel.rate = rate;
    }
    if let Some(Gap(gap)) = fields.optional("gap", faults) {
        channel.gap = gap;
    }
    if let Some(delay) = fields.optional("delay", faults) {
        channel.delay = delay;
    }
    match fields.value("queue").map(waiting) {
        Some(Ok(Waiting::Limit(limit))) => (channel.queue, discipline) = (limit, None),
        Some(Ok(Waiting::Discipline(config))) => discipline = Some(config),
        Some(Err(fault)) => faults.push(fault),
        None => {}
    }
    match fields.value("pause").map(pauses::read) {
        Some(Ok(config)) => pause = config,
        Some(Err(fault)) => faults.push(fault),
        None => {}
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
    if let Some(held_up) = fields.optional("reorder_by", faults) {
        channel.reorder_by = held_up;
    }
    if let Some(BitError(bit_error)) = fields.optional("bit_error", faults) {
        channel.bit_error = bit_error;
    }
    if let Some(times) = fields.optional("down", faults) {
        channel.down = times;
    }
    channel.seed = fields.optional("seed", faults).or(channel.seed);
    if channel.reorder != Probability::default()
        && channel.reorder_by == Time::ZERO
        && let Some(value) = fields.value("reorder")
    {
        let message = "frames are held up for no time, so none is overtaken";
        let fault = Fault::new(value.span.clone(), message);
        faults.push(fault.help("say for how long: `reorder_by = \"10 us\"`"));
    }
    Settings {
        channel,
        discipline,
        pause,
    }
}

/// Limit or discipline of a link's queue.
enum Waiting {
    Limit(QueueLimit),
    Discipline(queue::Config),
}

/// Reads a limit, the name of a discipline, a discipline in the words of tc, or a table of a discipline's parameters.
fn waiting(value: &Value) -> Result<Waiting, Fault> {
    let config: queue::Config = match &value.what {
        What::Text(name) if queue::Config::NAMES.contains(&name.as_str()) => {
            let named = MapDeserializer::<_, Refused>::new([("kind", name.as_str())].into_iter());
            queue::Config::deserialize(named).map_err(|error| {
                let fault = Fault::new(value.span.clone(), format!("{name}: {error}"));
                fault.help(format!("write `queue = {{ kind = \"{name}\", ... }}`"))
            })?
        }
        What::Text(text) if is_discipline(text) => queue::tc::parse_text(text)
            .map_err(|error| Fault::new(value.span.clone(), error.to_string()))?,
        What::Table(_) => value.read()?,
        _ => return value.read().map(|Queue(limit)| Waiting::Limit(limit)),
    };
    let checked = config.build(0);
    checked.map_err(|error| Fault::new(value.span.clone(), error.to_string()))?;
    Ok(Waiting::Discipline(config))
}

/// Whether a text is a discipline with parameters, as tc has them.
fn is_discipline(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    queue::tc::NAMES.contains(&first) || queue::Config::NAMES.contains(&first)
}

node::deserialize_from_str!(
    RateLimit: "a rate such as \"10 Gb/s\", or \"unlimited\"",
    Queue: "a queue such as \"1000 packets\" or \"512 kB\"",
);

/// Why a text is no rate of a link.
#[derive(Debug, thiserror::Error)]
enum RateError {
    #[error(
        "a rate is at least 1 b/s, in whole bits a second; for a link on which a frame takes no time write \"unlimited\""
    )]
    Range,
    #[error(transparent)]
    Quantity(QuantityError),
}

struct RateLimit(Option<Rate>);

impl FromStr for RateLimit {
    type Err = RateError;
    fn from_str(text: &str) -> Result<RateLimit, RateError> {
        if text.trim() == "unlimited" {
            return Ok(RateLimit(None));
        }
        let rate = text.parse::<Rate>().map_err(|error| match error {
            QuantityError::Range(_) => RateError::Range,
            other => RateError::Quantity(other),
        })?;
        Ok(RateLimit(Some(rate)))
    }
}

struct Queue(QueueLimit);

impl FromStr for Queue {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Queue, &'static str> {
        const WANTED: &str = "a queue is a number of packets or bytes, such as \"1000 packets\" or \"512 kB\", or a discipline, such as \"fq_codel\"; \
             disciplines are fifo, prio, drr, tbf, htb, policer, red, codel, fq_codel, pie, docsis_pie, dualpi2, cake and varying";
        let text = text.trim();
        let packets = ["packets", "packet", "frames", "frame"];
        let number = packets.iter().find_map(|unit| text.strip_suffix(unit));
        let limit = match number {
            Some(number) => {
                let number = number.trim().replace('_', "").parse::<u64>();
                let number = u32::try_from(number.map_err(|_| WANTED)?);
                QueueLimit::Packets(number.unwrap_or(u32::MAX))
            }
            // Of a bare number nobody knows which it is.
            None if text.ends_with(|last: char| last.is_ascii_digit()) => return Err(WANTED),
            None => QueueLimit::Bytes(text.parse::<Size>().map_err(|_| WANTED)?.bytes()),
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
        let gap = u32::try_from(bytes).ok().filter(|gap| *gap <= MAX_GAP);
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
