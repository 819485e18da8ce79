//! The clauses of a SPEC: a keyword and what stands behind it.

use super::read::Reader;
use super::words::Word;
use super::{
    Chance, Discipline, Lag, Loss, Percent, Reorder, Shape, Shaping, Slot, Spec, SpecError,
};
use crate::delay::trace::Trace;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;
use core::str::FromStr;
use measure::distribution::Distribution;
use node::Time;

/// Keywords, each with what it means.
const KEYWORDS: [(&str, &str); 16] = [
    ("limit", "limit"),
    ("delay", "delay"),
    ("latency", "delay"),
    ("distribution", "distribution"),
    ("loss", "loss"),
    ("drop", "loss"),
    ("ecn", "ecn"),
    ("duplicate", "duplicate"),
    ("corrupt", "corrupt"),
    ("reorder", "reorder"),
    ("gap", "gap"),
    ("rate", "rate"),
    ("burst", "burst"),
    ("slot", "slot"),
    ("seed", "seed"),
    ("queue", "queue"),
];

/// The shortest form of a keyword.
const SHORT: usize = 3;

/// What a keyword means; `None` for what is none. tc takes them cut short.
pub fn keyword(text: &str) -> Option<&'static str> {
    let mut found = KEYWORDS
        .iter()
        .filter(|(name, _)| *name == text || (text.len() >= SHORT && name.starts_with(text)));
    found.next().map(|(_, meaning)| *meaning)
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let mut reader = Reader::new(text)?;
        if reader.is_only("none") {
            return Ok(Spec::default());
        }
        let mut draft = Draft::default();
        while let Some(word) = reader.take() {
            draft.clause(word, &mut reader)?;
        }
        draft.finish(&reader)
    }
}

/// A SPEC that may not be whole yet.
#[derive(Default)]
pub struct Draft {
    spec: Spec,
    /// Keywords that were there, and where.
    seen: Vec<(&'static str, Range<usize>)>,
    shape: Option<Shape>,
    gap: Option<u64>,
    burst: Option<u32>,
}

impl Draft {
    /// Reads the clause that begins with `word`.
    pub fn clause(&mut self, word: Word<'_>, reader: &mut Reader<'_>) -> Result<(), SpecError> {
        let Some(name) = keyword(word.text) else {
            return Err(reader.wrong(word.span(), unknown(word, &self.seen)));
        };
        if self.seen.iter().any(|(seen, _)| *seen == name) {
            return Err(reader.wrong(
                word.span(),
                format!("`{name}` is there twice; leave one out"),
            ));
        }
        self.seen.push((name, word.span()));
        self.set(name, reader)
    }

    /// Reads what stands behind a keyword.
    pub fn set(&mut self, name: &'static str, reader: &mut Reader<'_>) -> Result<(), SpecError> {
        let spec = &mut self.spec;
        match name {
            "delay" => spec.delay = delay(reader)?,
            "distribution" => self.shape = Some(shape(reader)?),
            "loss" => spec.loss = loss(reader)?,
            "ecn" => spec.ecn = true,
            "duplicate" => spec.duplicate = chance(reader, name)?,
            "corrupt" => spec.corrupt = chance(reader, name)?,
            "reorder" => {
                let chance = chance(reader, name)?;
                spec.reorder = Some(Reorder { chance, gap: 1 });
            }
            "gap" => self.gap = Some(reader.whole(name, 1, u32::MAX.into())?),
            "rate" => spec.rate = Some(rate(reader)?),
            "burst" => self.burst = Some(reader.whole(name, 1, u32::MAX)?),
            "slot" => spec.slot = Some(slot(reader)?),
            "queue" => spec.queue = Some(queue(reader)?),
            "limit" => spec.limit = Some(reader.whole(name, 1, u32::MAX.into())?),
            _ => spec.seed = Some(reader.whole(name, 0, u64::MAX)?),
        }
        Ok(())
    }

    /// Where a keyword was.
    fn place(&self, name: &str) -> Range<usize> {
        let mut seen = self.seen.iter();
        let found = seen.find(|(seen, _)| *seen == name);
        found.map_or(0..0, |(_, span)| span.clone())
    }

    /// The whole, if its clauses fit together.
    pub fn finish(mut self, reader: &Reader<'_>) -> Result<Spec, SpecError> {
        if let Some(given) = self.shape.take() {
            match &mut self.spec.delay {
                Lag::Spread { shape, .. } => *shape = given,
                _ => {
                    let reason = "there is no jitter that it could be the distribution of; write `delay TIME JITTER` too";
                    return Err(reader.wrong(self.place("distribution"), reason));
                }
            }
        }
        match (&mut self.spec.rate, self.burst) {
            (_, None) => {}
            (Some(shaping), Some(burst)) => shaping.burst = burst,
            (None, Some(_)) => {
                let reason = "it is the burst of `rate RATE`, which is missing";
                return Err(reader.wrong(self.place("burst"), reason));
            }
        }
        match (&mut self.spec.reorder, self.gap) {
            (Some(reorder), Some(gap)) => reorder.gap = gap,
            (None, Some(_)) => {
                let reason = "it is the gap of `reorder PERCENT`, which is missing";
                return Err(reader.wrong(self.place("gap"), reason));
            }
            _ => {}
        }
        if self.spec.queue.is_some() {
            let reason = match &self.spec.rate {
                None => "nothing waits in it; write `rate RATE` too",
                Some(shaping) if shaping.burst > 0 => {
                    "a bucket has a queue of its own; leave `burst` out, or write a lab with `tbf`"
                }
                _ => "",
            };
            if !reason.is_empty() {
                return Err(reader.wrong(self.place("queue"), reason));
            }
        }
        if self.spec.reorder.is_some() && self.spec.delay == Lag::default() {
            let reason =
                "frames sent at once overtake only those that wait; write `delay TIME` too";
            return Err(reader.wrong(self.place("reorder"), reason));
        }
        if self.spec.ecn && self.spec.loss == Loss::default() {
            let reason =
                "it marks what `loss` would lose, and there is no loss; write `loss PERCENT` too";
            return Err(reader.wrong(self.place("ecn"), reason));
        }
        Ok(self.spec)
    }
}

fn unknown(word: Word<'_>, seen: &[(&'static str, Range<usize>)]) -> alloc::string::String {
    let names: Vec<&str> = KEYWORDS.iter().map(|(name, _)| *name).collect();
    let near = names
        .iter()
        .find(|name| one_slip(name, word.text))
        .map(|name| format!("did you mean `{name}`?"));
    match (near, seen.last(), word.is_number()) {
        (Some(near), ..) => near,
        (None, Some((last, _)), true) => {
            format!(
                "`{last}` takes no more values; a keyword is wanted here: {}",
                names.join(", ")
            )
        }
        (None, None, true) => "a keyword comes first, as in `delay 100ms`".to_string(),
        _ => format!("no keyword of netem's; there are: {}", names.join(", ")),
    }
}

/// Whether two words differ by one letter, or by two that have changed places.
fn one_slip(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let back = |a: &[u8], b: &[u8]| {
        a.iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(x, y)| x == y)
            .count()
    };
    let (x, y) = (&a[front..], &b[front..]);
    let end = back(x, y);
    let (x, y) = (&x[..x.len() - end], &y[..y.len() - end]);
    match (x.len(), y.len()) {
        (0..=1, 0..=1) => a.len() > 3,
        (2, 2) => x[0] == y[1] && x[1] == y[0],
        _ => false,
    }
}

/// A discipline in tc's words, which are all that are left.
fn queue(reader: &mut Reader<'_>) -> Result<Discipline, SpecError> {
    let mut words = alloc::vec![reader.want("queue", "a discipline, such as `fq_codel`,")?];
    while let Some(word) = reader.take() {
        words.push(word);
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    let read = queue::tc::parse(&texts);
    let config = read.map_err(|error| {
        let all = words.first().map_or(0..0, |first| {
            first.at..words.last().map_or(first.at, |last| last.span().end)
        });
        let span = words.get(error.word).map_or(all, |word| word.span());
        reader.wrong(span, error.reason)
    })?;
    let words = texts.join(" ");
    Ok(Discipline { words, config })
}

fn delay(reader: &mut Reader<'_>) -> Result<Lag, SpecError> {
    if reader.take_if("trace") {
        let file = reader.want("trace", "a file")?;
        return Ok(Lag::Trace(Trace::File(file.text.into())));
    }
    let law = reader.peek().filter(|word| !word.is_number());
    if let Some(word) = law {
        if keyword(word.text).is_some() {
            return Err(reader.wrong(word.span(), "a time is wanted before it, such as 100ms"));
        }
        reader.take();
        let distribution: Distribution =
            word.text
                .parse()
                .map_err(|error: measure::distribution::DistributionError| {
                    let error = error.behind(word.at);
                    reader.wrong(error.span, error.reason)
                })?;
        let correlation = reader.percent_if("delay")?.unwrap_or_default();
        return Ok(Lag::Drawn {
            distribution,
            correlation,
        });
    }
    let base = reader.time("delay")?;
    if !reader.number_follows() {
        return Ok(Lag::Fixed(base));
    }
    let jitter = reader.time("delay")?;
    let correlation = reader.percent_if("delay")?.unwrap_or_default();
    Ok(Lag::Spread {
        base,
        jitter,
        shape: Shape::Uniform,
        correlation,
    })
}

fn shape(reader: &mut Reader<'_>) -> Result<Shape, SpecError> {
    let word = reader.want("distribution", "its name")?;
    Ok(match word.text {
        "uniform" => Shape::Uniform,
        "normal" => Shape::Normal,
        // A number with a unit is the time that follows in `slot distribution pareto 1ms 0.1ms`.
        "pareto"
            if reader
                .peek()
                .is_some_and(|word| word.text.parse::<f64>().is_ok()) =>
        {
            let number = reader.want("pareto", "its shape")?;
            let shape = number.text.parse::<f64>().ok();
            let shape = shape.filter(|shape| *shape > 2.0 && *shape <= 1000.0);
            Shape::Pareto(shape.ok_or_else(|| {
                let reason = "a shape above 2 is wanted, such as 3: below, the jitter would have no end; see `delay pareto(1ms, 1.5)`";
                reader.wrong(number.span(), reason)
            })?)
        }
        "pareto" => Shape::Pareto(3.0),
        "paretonormal" => Shape::ParetoNormal,
        "exponential" => Shape::Exponential,
        file if file.contains('/') || file.ends_with(".dist") => Shape::File(file.into()),
        _ => {
            let reason = "the distributions are uniform, normal, pareto, paretonormal, exponential, and files such as ./my.dist";
            return Err(reader.wrong(word.span(), reason));
        }
    })
}

fn chance(reader: &mut Reader<'_>, name: &str) -> Result<Chance, SpecError> {
    let chance = Chance {
        percent: reader.percent(name)?,
        correlation: reader.percent_if(name)?.unwrap_or_default(),
    };
    // What never happens has nothing to be correlated.
    match chance.percent == Percent::default() {
        true => Ok(Chance::default()),
        false => Ok(chance),
    }
}

fn loss(reader: &mut Reader<'_>) -> Result<Loss, SpecError> {
    match reader.peek().map(|word| (word, word.text)) {
        Some((_, "gemodel")) => {
            reader.take();
            let p = reader.percent("gemodel")?;
            let r = reader.percent_if("gemodel")?;
            let bad = reader.percent_if("gemodel")?;
            let good = reader.percent_if("gemodel")?;
            Ok(Loss::Gemodel {
                p,
                r: r.unwrap_or(p.rest()),
                bad: bad.unwrap_or(Percent::ALL),
                good: good.unwrap_or_default(),
            })
        }
        Some((word, "state")) => {
            reader.take();
            let p13 = reader.percent("state")?;
            let p31 = reader.percent_if("state")?.unwrap_or(p13.rest());
            let p32 = reader.percent_if("state")?.unwrap_or_default();
            let p23 = reader.percent_if("state")?.unwrap_or(Percent::ALL);
            let p14 = reader.percent_if("state")?.unwrap_or_default();
            for (a, b, what) in [(p31, p32, "P31 and P32"), (p13, p14, "P13 and P14")] {
                if a.part() + b.part() > 1.0 + 1e-9 {
                    let reason =
                        format!("{what} lead out of one state, and are more than 100% together");
                    return Err(reader.wrong(word.span(), reason));
                }
            }
            Ok(Loss::State {
                p13,
                p31,
                p32,
                p23,
                p14,
            })
        }
        Some((_, "random")) => {
            reader.take();
            chance(reader, "random").map(Loss::Random)
        }
        Some((word, _)) if !word.is_number() => {
            let reason = "behind `loss` comes a percentage, or random, gemodel or state";
            Err(reader.wrong(word.span(), reason))
        }
        _ => chance(reader, "loss").map(Loss::Random),
    }
}

fn rate(reader: &mut Reader<'_>) -> Result<Shaping, SpecError> {
    /// Maximum overhead and cell size, bytes: more than any frame has.
    const MAX_OVERHEAD: i32 = 1 << 20;
    let mut shaping = Shaping {
        rate: reader.rate("rate")?,
        packet_overhead: 0,
        cell_size: 0,
        cell_overhead: 0,
        burst: 0,
    };
    if reader.number_follows() {
        shaping.packet_overhead = reader.whole("rate", -MAX_OVERHEAD, MAX_OVERHEAD)?;
    }
    if reader.number_follows() {
        shaping.cell_size = reader.whole("rate", 0, MAX_OVERHEAD as u32)?;
    }
    if reader.number_follows() {
        let most = shaping.cell_size as i32;
        let least = if most == 0 { -MAX_OVERHEAD } else { 1 - most };
        shaping.cell_overhead = reader.whole("rate", least, MAX_OVERHEAD)?;
    }
    Ok(shaping)
}

fn slot(reader: &mut Reader<'_>) -> Result<Slot, SpecError> {
    let start = reader.peek();
    let wait = if reader.take_if("distribution") {
        let shape = shape(reader)?;
        Lag::Spread {
            base: reader.time("slot distribution")?,
            jitter: reader.time("slot distribution")?,
            shape,
            correlation: Percent::default(),
        }
    } else {
        let least = reader.time("slot")?;
        let greatest = match reader.number_follows() {
            true => reader.time("slot")?,
            false => least,
        };
        if greatest < least {
            let span = start.map_or(0..0, Word::span);
            return Err(reader.wrong(span, "the least time comes first, then the greatest"));
        }
        Lag::Drawn {
            distribution: Distribution::Uniform { least, greatest },
            correlation: Percent::default(),
        }
    };
    let longest = match &wait {
        Lag::Drawn { distribution, .. } => distribution.greatest(),
        Lag::Spread { base, .. } => *base,
        _ => Time::ZERO,
    };
    if longest == Time::ZERO {
        let span = start.map_or(0..0, Word::span);
        return Err(reader.wrong(
            span,
            "slots are some time apart; write one above 0, such as 5ms",
        ));
    }
    let (mut packets, mut bytes) = (0, 0);
    loop {
        if reader.take_if("packets") {
            packets = reader.whole("packets", 1, u32::MAX.into())?;
        } else if reader.take_if("bytes") {
            bytes = reader.whole("bytes", 1, u32::MAX.into())?;
        } else {
            break;
        }
    }
    Ok(Slot {
        wait,
        packets,
        bytes,
    })
}
