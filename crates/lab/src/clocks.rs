//! The keys that say at which level a link is, and what the clocks at its ends are like.

use crate::fault::Fault;
use crate::fields::{Fields, Text};
use crate::tree::{Value, What};
use node::oscillator::OscillatorError;
use node::{Channel, Clocks, Level, Oscillator, Time};
use serde::Deserialize;

#[derive(Deserialize)]
enum Name {
    #[serde(rename = "frame")]
    Frame,
    #[serde(rename = "block")]
    Block,
}

/// Reads the keys of a link, each of which may be left out, into its way from the first end to the
/// second.
pub(crate) fn read(fields: &mut Fields<'_>, channel: &mut Channel, faults: &mut Vec<Fault>) {
    match (fields.optional("level", faults), &channel.level) {
        (Some(Name::Frame), _) => channel.level = Level::Frame,
        (Some(Name::Block), Level::Frame) => channel.level = Level::Block(Clocks::default()),
        (Some(Name::Block), Level::Block(_)) | (None, _) => {}
    }
    let Some(value) = fields.value("clocks") else {
        return;
    };
    let Level::Block(clocks) = &mut channel.level else {
        let message = "only a link at the level of blocks has clocks";
        let fault = Fault::new(value.span.clone(), message);
        faults.push(fault.help("add `level = \"block\"`"));
        return;
    };
    let What::List(ends) = &value.what else {
        faults.push(wanted(value));
        return;
    };
    let [sender, receiver] = ends.as_slice() else {
        faults.push(wanted(value));
        return;
    };
    *clocks = Clocks {
        sender: clock(sender, faults),
        receiver: clock(receiver, faults),
    };
}

/// The way back of a link: the end that receives is the one that sends there.
pub(crate) fn turned(channel: &Channel) -> Channel {
    let mut turned = channel.clone();
    if let Level::Block(clocks) = &mut turned.level {
        std::mem::swap(&mut clocks.sender, &mut clocks.receiver);
    }
    turned
}

fn wanted(value: &Value) -> Fault {
    let fault = Fault::new(
        value.span.clone(),
        "a link has two clocks, one for each end",
    );
    fault.help("write how many ppm each is fast: `clocks = [100, -100]`")
}

/// One that is so many ppm fast, or a table.
fn clock(value: &Value, faults: &mut Vec<Fault>) -> Oscillator {
    let mut law = Oscillator::default();
    match &value.what {
        What::Integer(ppm) => law.offset = *ppm as f64,
        What::Float(ppm) => law.offset = *ppm,
        What::Table(_) => {
            let mut fields = Fields::of(value, "a table", faults);
            for (key, figure) in [
                ("ppm", &mut law.offset),
                ("drift", &mut law.drift),
                ("per_degree", &mut law.per_degree),
            ] {
                *figure = fields.optional(key, faults).unwrap_or(*figure);
            }
            let points = fields.optional::<Vec<(Text<Time>, f64)>>("temperature", faults);
            let points = points.unwrap_or_default().into_iter();
            law.temperature = points.map(|(Text(at), degrees)| (at, degrees)).collect();
            fields.finish(faults);
        }
        _ => faults.push(wanted(value)),
    }
    if let Err(error) = law.check() {
        let fault = Fault::new(value.span.clone(), error.to_string());
        faults.push(match error {
            OscillatorError::Temperature => {
                fault.help("write `temperature = [[\"0 s\", 20], [\"60 s\", 45]]`")
            }
            OscillatorError::Offset | OscillatorError::Drift => fault,
        });
        return Oscillator::default();
    }
    law
}
