//! What a module acts through.

use super::Setup;
use super::probe::Stream;
use crate::message::Message;
use ::node::Time;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

/// A value of the SNMP channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// What was asked for, as an object identifier in dots.
    pub name: String,
    /// The value; `None` when there was no answer, or none that is a number.
    pub number: Option<i64>,
}

/// Who answers what a module [asks](Bench::ask): an SNMP agent's client, or whoever else knows. It never waits.
pub trait Agent: Send {
    /// Asks for a value.
    fn ask(&mut self, name: &str);

    /// An answer that has come. Every question gets one, if only that there is none.
    fn take(&mut self) -> Option<Value>;
}

/// What a module acts through; and what it wants done when it returns.
pub struct Bench<'a> {
    pub(super) now: Time,
    pub(super) setup: Setup,
    pub(super) requests: &'a mut Requests,
}

/// What was asked for and is not done yet.
#[derive(Default)]
pub(super) struct Requests {
    pub messages: Vec<u8>,
    pub xid: u32,
    pub timers: BTreeMap<(Time, u64), u64>,
    pub timers_set: u64,
    pub streams: Vec<(Stream, u64)>,
    pub questions: VecDeque<String>,
    pub faults: Vec<String>,
    pub done: bool,
    pub watch: bool,
}

/// Faults that are kept.
const FAULTS: usize = 20;

impl Bench<'_> {
    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What all tests know.
    pub fn setup(&self) -> Setup {
        self.setup
    }

    /// Sends a message, and returns its xid. One that the version has no form for is a fault.
    pub fn send(&mut self, message: &Message<'_>) -> u32 {
        self.requests.xid = self.requests.xid.wrapping_add(1).max(1);
        let xid = self.requests.xid;
        if let Err(error) = message.encode(self.setup.version, xid, &mut self.requests.messages) {
            self.fault(alloc::format!("{error}"));
        }
        xid
    }

    /// Asks for [`taken`](super::Module::taken), once what was sent until now is taken by the far end.
    pub fn watch(&mut self) {
        self.requests.watch = true;
    }

    /// Starts a stream of probes by the first data channel.
    pub fn generate(&mut self, stream: Stream) {
        self.requests.streams.push((stream, 0));
    }

    /// Ends a stream; how many probes of it were sent.
    pub fn stop(&mut self, number: u32) -> u64 {
        let found = self
            .requests
            .streams
            .iter()
            .position(|(stream, _)| stream.number == number);
        found.map_or(0, |at| self.requests.streams.remove(at).1)
    }

    /// Sets a timer.
    pub fn timer(&mut self, at: Time, number: u64) {
        self.requests.timers_set += 1;
        let key = (at, self.requests.timers_set);
        self.requests.timers.insert(key, number);
    }

    /// Asks for a value over the SNMP channel, by its object identifier: `1.3.6.1.4.1.2021.11.53.0`. The node's
    /// [`Agent`] answers; without one nobody does.
    pub fn ask(&mut self, name: impl Into<String>) {
        self.requests.questions.push_back(name.into());
    }

    /// Takes down something that is wrong.
    pub fn fault(&mut self, what: impl Into<String>) {
        if self.requests.faults.len() < FAULTS {
            self.requests.faults.push(what.into());
        }
    }

    /// Ends the test.
    pub fn finish(&mut self) {
        self.requests.done = true;
    }
}
