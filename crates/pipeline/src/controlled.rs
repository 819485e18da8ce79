//! A pipeline with its controller in one node: commands at given times, and answers to what the packets say.
//!
//! In simulated time this is what a controller at the other end of a connection would do, exactly as late as one says.

use crate::control::{Control, Entity, Operation, Update};
use crate::environment::Digest;
use crate::node::PipelineNode;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use node::Statistics;
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Time};

/// What a controller does when a digest comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// The digest, by its name for the control plane.
    pub digest: String,
    /// How long it takes until the commands are carried out.
    pub after: Time,
    /// Commands in the words of [`crate::control`], with `$FIELD` for the digest's fields, the longest name first.
    pub commands: Vec<String>,
}

/// What a controller does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Commands and their times.
    pub commands: Vec<(Time, String)>,
    /// Answers to digests.
    pub reactions: Vec<Reaction>,
    /// Whether entries that were idle for too long are removed.
    pub forget_idle: bool,
}

/// Is told what the control plane says: answers of commands, and those that are refused.
pub type MessageSink = Box<dyn FnMut(Time, &str) + Send>;

/// A pipeline, and what controls it.
///
/// Counters: those of the [`PipelineNode`], and `commands`, `commands refused`.
pub struct Controlled {
    node: PipelineNode,
    control: Control,
    plan: Plan,
    /// Pending commands, in order.
    due: BTreeMap<(Time, u64), String>,
    number: u64,
    done: u64,
    refused: u64,
    sink: MessageSink,
}

/// Maximum number of commands that wait; a flood of digests adds no more.
const MAX_DUE: usize = 1 << 16;

impl Controlled {
    /// A pipeline with a controller that does as planned.
    #[must_use]
    pub fn new(mut node: PipelineNode, plan: Plan, sink: MessageSink) -> Self {
        let control = Control::new(Arc::clone(node.pipeline().environment()));
        let mut controlled = Controlled {
            node,
            control,
            due: BTreeMap::new(),
            number: 0,
            done: 0,
            refused: 0,
            sink,
            plan: Plan::default(),
        };
        for (time, command) in &plan.commands {
            controlled.add(*time, command.clone());
        }
        controlled.plan = plan;
        controlled
    }

    fn add(&mut self, time: Time, command: String) {
        if self.due.len() < MAX_DUE {
            self.number += 1;
            self.due.insert((time, self.number), command);
        } else {
            self.refused += 1;
        }
    }

    /// Does what is due.
    fn control(&mut self, now: Time) {
        while let Some(first) = self.due.first_entry() {
            if first.key().0 > now {
                break;
            }
            let command = first.remove();
            self.done += 1;
            match self.control.say(&command) {
                Ok(answer) => answer
                    .rows
                    .iter()
                    .for_each(|(text, _)| (self.sink)(now, text)),
                Err(error) => {
                    self.refused += 1;
                    (self.sink)(now, &format!("`{command}`: {error}"));
                }
            }
        }
    }

    /// Hears what packets had to say.
    fn hear(&mut self, now: Time) {
        let environment = self.control.environment();
        if !self.plan.reactions.is_empty() {
            for digest in environment.digests.drain() {
                self.answer(now, &digest);
            }
        }
        if self.plan.forget_idle {
            for idle in self.control.environment().idles.drain() {
                let entity = Entity::Entry(idle.table, idle.entry.entry);
                let update = Update {
                    operation: Operation::Delete,
                    entity,
                };
                self.done += 1;
                // It may be gone already.
                let _ = self.control.write_all(&[update]);
            }
        }
    }

    fn answer(&mut self, now: Time, digest: &Digest) {
        let mut commands = Vec::new();
        for reaction in &self.plan.reactions {
            let named = |known: &&crate::control::program::Digest| {
                let name = &*known.name;
                name == reaction.digest || name.ends_with(&format!(".{}", reaction.digest))
            };
            if !self
                .control
                .digests()
                .iter()
                .find(named)
                .is_some_and(|known| known.is(digest))
            {
                continue;
            }
            for command in &reaction.commands {
                commands.push((now + reaction.after, filled(command, digest)));
            }
        }
        for (time, command) in commands {
            self.add(time, command);
        }
    }
}

/// A command with a digest's fields in it.
fn filled(command: &str, digest: &Digest) -> String {
    let mut fields: Vec<_> = digest.fields.iter().collect();
    fields.sort_by_key(|(name, _)| core::cmp::Reverse(name.len()));
    fields
        .into_iter()
        .fold(command.to_string(), |command, (name, value)| {
            command.replace(&format!("${name}"), &format!("{:#x}", value.unsigned()))
        })
}

impl Node for Controlled {
    fn properties(&self) -> Properties {
        self.node.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.control(now);
        self.node.frames(now, port, frames, out);
        self.hear(now);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.control(now);
        self.node.wake(now, out);
        self.hear(now);
    }

    fn next_wake(&self) -> Option<Time> {
        let due = self.due.first_key_value().map(|((time, _), _)| *time);
        match (due, self.node.next_wake()) {
            (Some(due), Some(node)) => Some(due.min(node)),
            (due, node) => due.or(node),
        }
    }

    fn set_waker(&mut self, waker: &core::task::Waker) {
        self.node.set_waker(waker);
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        self.node.event(now, event, out);
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = self.node.statistics();
        if self.done + self.refused > 0 {
            statistics.counter("commands", self.done);
            statistics.counter("commands refused", self.refused);
        }
        statistics
    }

    fn tables(&self, now: Time) -> Vec<node::outcome::Table> {
        self.node.tables(now)
    }
}
