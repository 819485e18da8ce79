//! The key `pause` of links, and the queues that it requires.

use crate::channel::Settings;
use crate::fault::Fault;
use crate::plan::Lab;
use crate::tree::{Value, What};
use node::outcome::Direction;
use node::{Channel, Level, QueueLimit, Size};
use queue::pause::{Config, PRIORITIES, Port};
use queue::{fifo, prio};
use std::collections::BTreeSet;
use std::ops::Range;

/// Reads `"link"`, `"off"`, or a table of parameters.
pub(super) fn read(value: &Value) -> Result<Option<Config>, Fault> {
    match &value.what {
        What::Text(text) if text == "off" => Ok(None),
        What::Text(text) if text == "link" => Ok(Some(Config::default())),
        What::Table(_) => value.read().map(Some),
        _ => {
            let message =
                "a pause is `\"link\"`, `\"off\"` or a table such as `{ priorities = [3] }`";
            Err(Fault::new(value.span.clone(), message))
        }
    }
}

/// Checks the pauses of a link, and gives directions with pauses of priorities the queue that they need.
pub(crate) fn settle(settings: &mut [Settings; 2], span: &Range<usize>, faults: &mut Vec<Fault>) {
    let pauses = settings.each_ref().map(|way| way.pause.clone());
    if pauses.iter().all(Option::is_none) {
        return;
    }
    let fault = |message: String| Fault::new(span.clone(), message);
    let channels = settings.each_ref().map(|way| way.channel.clone());
    if channels.iter().any(|channel| channel.level != Level::Frame) {
        faults.push(fault("`pause` is for links at the level of frames".into()));
        return;
    }
    for way in Direction::BOTH {
        if let Err(error) = Port::new(&channels, &pauses, way) {
            faults.push(fault(format!("pause: {error}")));
            return;
        }
        let own = &mut settings[way.index()];
        let Some(config) = own.pause.as_ref().filter(|own| !own.priorities.is_empty()) else {
            continue;
        };
        match &own.discipline {
            None => own.discipline = Some(bands(config)),
            Some(queue::Config::Prio(_)) => {}
            Some(other) => {
                let name = other.name();
                let message = format!("`{name}` knows no priorities to be paused");
                let help =
                    "write `queue = \"prio\"`, or leave `queue` out for a band of each priority";
                faults.push(fault(message).help(help));
            }
        }
    }
}

/// A band of each priority, the highest first. Lossless bands have no limit but the receiver's buffer.
fn bands(config: &Config) -> queue::Config {
    let band = |priority: usize| match config.covers(priority) {
        true => queue::Config::Fifo(fifo::Config {
            limit: u32::MAX,
            ..fifo::Config::default()
        }),
        false => queue::Config::default(),
    };
    queue::Config::Prio(prio::Config {
        bands: (0..PRIORITIES).rev().map(band).collect(),
        priomap: (0..PRIORITIES as u32).rev().collect(),
        ..prio::Config::default()
    })
}

/// Adds a queue to the ports of nodes that pause senders, whose buffer counts the frames in them.
pub(crate) fn add_queues(lab: &mut Lab) {
    let mut pausing = BTreeSet::new();
    for plan in &lab.links {
        for way in Direction::BOTH {
            if plan.pauses[way.index()].is_some() {
                pausing.insert(plan.link.ends[1 - way.index()].node.0);
            }
        }
    }
    for plan in &mut lab.links {
        let is_pausing = plan.pauses.iter().any(Option::is_some);
        for way in Direction::BOTH {
            let from = plan.link.ends[way.index()].node.0;
            let discipline = &mut plan.disciplines[way.index()];
            if discipline.is_none() && (is_pausing || pausing.contains(&from)) {
                let is_paused = plan.pauses[way.index()].is_some();
                *discipline = Some(first_in_first_out(
                    &plan.link.channels[way.index()],
                    is_paused,
                ));
            }
        }
    }
}

/// A FIFO with the channel's limit; where the link is paused, frames wait for that without a limit.
fn first_in_first_out(channel: &Channel, is_paused: bool) -> queue::Config {
    let unlimited = fifo::Config {
        limit: u32::MAX,
        ..fifo::Config::default()
    };
    queue::Config::Fifo(match channel.queue {
        _ if is_paused => unlimited,
        QueueLimit::Packets(limit) => fifo::Config { limit, ..unlimited },
        QueueLimit::Bytes(bytes) => fifo::Config {
            bytes: Some(Size::from_bytes(bytes)),
            ..unlimited
        },
    })
}
