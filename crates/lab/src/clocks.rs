//! The keys that say at which level a link is, and what the clocks at its ends, or of a node, are like.

use crate::fault::Fault;
use crate::fields::Fields;
use crate::plan::Lab;
use crate::tree::{Value, What};
use node::oscillator::{MAX_PPM, OscillatorError};
use node::random::Random;
use node::{Channel, Clocks, Level, Oscillator, Probability, Time};
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
    if let Some(value) = fields.value("fifo") {
        match (&mut channel.level, value.read::<f64>()) {
            (_, Err(fault)) => faults.push(fault),
            (Level::Frame, _) => faults.push(only_blocks(value, "a synchronisation FIFO")),
            (Level::Block(clocks), Ok(chance)) => match Probability::new(chance) {
                Some(chance) => clocks.fifo = chance,
                None => {
                    let message = "how likely it is to hold a message for a tick more: 0 to 1";
                    faults.push(Fault::new(value.span.clone(), message));
                }
            },
        }
    }
    let Some(value) = fields.value("clocks") else {
        return;
    };
    let Level::Block(clocks) = &mut channel.level else {
        faults.push(only_blocks(value, "clocks"));
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
        fifo: clocks.fifo,
    };
}

fn only_blocks(value: &Value, what: &str) -> Fault {
    let message = format!("only a link at the level of blocks has {what}");
    let fault = Fault::new(value.span.clone(), message);
    fault.help("add `level = \"block\"`")
}

/// The clock of a node, which all of its links at the level of blocks use there. The frequency error
/// is random if the node has `within`, its maximum in ppm.
pub(crate) fn of_node(value: &Value, seed: u64, faults: &mut Vec<Fault>) -> Oscillator {
    let Some(within) = value.get("within") else {
        return clock(value, faults);
    };
    let mut fields = Fields::of(value, "a table", faults);
    let most = fields.optional::<f64>("within", faults).unwrap_or(0.0);
    fields.finish(faults);
    if !(0.0..=MAX_PPM).contains(&most) {
        let message = format!("a clock is within 0 to {MAX_PPM} ppm");
        faults.push(Fault::new(within.span.clone(), message));
        return Oscillator::default();
    }
    Oscillator::fast_by(most * (2.0 * Random::new(seed).unit() - 1.0))
}

/// Gives the ends of links the clocks of their nodes.
pub(crate) fn settle(lab: &mut Lab, faults: &mut Vec<Fault>) {
    for plan in &mut lab.links {
        for end in 0..2 {
            let Some((clock, span)) = &lab.nodes[plan.link.ends[end].node.0].clock else {
                continue;
            };
            for (direction, channel) in plan.link.channels.iter_mut().enumerate() {
                let Level::Block(clocks) = &mut channel.level else {
                    continue;
                };
                let own = match direction == end {
                    true => &mut clocks.sender,
                    false => &mut clocks.receiver,
                };
                if *own != Oscillator::default() && own != clock {
                    let message = format!("`{}` has another clock at its link", plan.names[end]);
                    let fault = Fault::new(span.clone(), message);
                    faults.push(fault.help("leave `clocks` of the link out"));
                    return;
                }
                *own = clock.clone();
            }
        }
    }
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
            let points = fields.optional::<Vec<(Time, f64)>>("temperature", faults);
            law.temperature = points.unwrap_or_default();
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
