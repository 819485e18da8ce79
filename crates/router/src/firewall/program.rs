//! Rules as a flat program, and its execution.

use super::fields::Field;
use super::limit::Limit;
use super::sets::{Data, Set, Verdict};
use super::{Hook, Packet, Reject, SynProxy};
use crate::conntrack::Helper;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use node::Time;

/// Maximum depth of jumps, as in Linux.
pub(super) const MAX_DEPTH: usize = 16;

/// Test of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// The value is in this interval, or is not.
    Within(u128, u128, bool),
    /// The value's bits in the mask are these, or are not.
    Masked(u128, u128, bool),
    /// The value is in the set with this number, or is not.
    InSet(u32, bool),
}

/// A test in twelve bytes: most values have no more than 32 bits, and many rules fit into the processor's nearest cache.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compact {
    Within(u32, u32, bool),
    Masked(u32, u32, bool),
    InSet(u32, bool),
    /// The number of a test of longer values.
    Wide(u32),
}

/// Step of a rule. One that does not match ends the rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Test(Field, Compact),
    /// Looks the verdict up in a map.
    Choose(Field, u32),
    SetMark(Source),
    SetCtMark(Source),
    Limit(u32),
    /// Counts a packet that has come so far; also `log`.
    Counter(u32),
    NoTrack,
    /// Gives new connections a helper, over IPv4, IPv6 or both (`None`).
    SetHelper(Helper, Option<bool>),
    Verdict(Verdict),
    Reject(Reject),
    SynProxy(SynProxy),
}

/// Origin of a mark.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Value(u32),
    Field(Field),
    Map(Field, u32),
}

/// A rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// Packets and bytes that have matched.
    pub packets: u64,
    pub bytes: u64,
    pub text: String,
}

/// A chain.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Table and chain.
    pub name: String,
    pub rules: Range<u32>,
    /// Of a base chain.
    pub base: Option<Base>,
    /// Packets and bytes that the policy has judged.
    pub packets: u64,
    pub bytes: u64,
}

/// Place of a base chain in the path of packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub hook: Hook,
    pub priority: i32,
    pub drops: bool,
    /// IP version; `None`: both.
    pub is_v4: Option<bool>,
}

/// A counter.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    pub name: String,
    pub packets: u64,
    pub bytes: u64,
}

/// A compiled ruleset.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub steps: Vec<Step>,
    /// The step after those of each rule. Packets that match nothing come by these and the steps alone.
    pub ends: Vec<u32>,
    pub rules: Vec<Rule>,
    pub chains: Vec<Chain>,
    pub sets: Vec<Set>,
    pub wide: Vec<Test>,
    pub limits: Vec<Limit>,
    pub counters: Vec<Counter>,
}

/// End of a chain's execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet passes.
    Accept,
    /// The packet is dropped by a rule.
    Drop,
    /// The packet is dropped by a chain's policy.
    Policy,
    /// The packet is dropped, and its sender gets an error.
    Reject(Reject),
    /// The packet belongs to the SYN proxy.
    SynProxy(SynProxy),
}

/// Value of the field that was loaded last: rules after each other look at the same one.
struct Loaded {
    field: Option<Field>,
    value: Option<u128>,
}

impl Loaded {
    #[inline]
    fn load(&mut self, field: Field, packet: &Packet) -> Option<u128> {
        if self.field != Some(field) {
            (self.field, self.value) = (Some(field), field.load(packet));
        }
        self.value
    }
}

impl Program {
    /// Appends a test of a field.
    pub fn add_test(&mut self, field: Field, test: Test) {
        let short = |value: u128| u32::try_from(value).ok();
        let both = |first, second| short(first).zip(short(second));
        let compact = match test {
            Test::InSet(set, is) => Some(Compact::InSet(set, is)),
            Test::Within(first, last, is) => {
                both(first, last).map(|(first, last)| Compact::Within(first, last, is))
            }
            Test::Masked(mask, value, is) => {
                both(mask, value).map(|(mask, value)| Compact::Masked(mask, value, is))
            }
        };
        let compact = compact.unwrap_or_else(|| {
            self.wide.push(test);
            Compact::Wide(self.wide.len() as u32 - 1)
        });
        self.steps.push(Step::Test(field, compact));
    }

    #[inline]
    fn holds(&self, test: Compact, value: u128) -> bool {
        match test {
            Compact::Within(first, last, is) => {
                (u128::from(first) <= value && value <= u128::from(last)) == is
            }
            Compact::Masked(mask, wanted, is) => {
                (value & u128::from(mask) == u128::from(wanted)) == is
            }
            Compact::InSet(set, is) => self.sets[set as usize].find(value).is_some() == is,
            Compact::Wide(number) => match self.wide[number as usize] {
                Test::Within(first, last, is) => (first <= value && value <= last) == is,
                Test::Masked(mask, wanted, is) => (value & mask == wanted) == is,
                Test::InSet(set, is) => self.sets[set as usize].find(value).is_some() == is,
            },
        }
    }

    /// The steps of a rule.
    #[inline]
    pub fn steps_of(&self, rule: usize) -> Range<usize> {
        let start = match rule {
            0 => 0,
            _ => self.ends[rule - 1],
        };
        start as usize..self.ends[rule] as usize
    }

    /// Runs a base chain.
    pub fn run(&mut self, chain: u32, now: Time, packet: &mut Packet) -> Outcome {
        let length = packet.headers.end - packet.headers.ip;
        let mut loaded = Loaded {
            field: None,
            value: None,
        };
        // Rules to return to.
        let mut stack = [(0, 0); MAX_DEPTH];
        let mut depth = 0;
        let mut rules = self.chains[chain as usize].rules.clone();
        loop {
            let Some(rule) = rules.next() else {
                match depth {
                    0 => break,
                    _ => depth -= 1,
                }
                rules = stack[depth].0..stack[depth].1;
                continue;
            };
            let verdict = match self.rule(rule, now, length, packet, &mut loaded) {
                Ok(verdict) => verdict,
                Err(outcome) => return outcome,
            };
            let next = match verdict {
                Verdict::Accept => return Outcome::Accept,
                Verdict::Drop => return Outcome::Drop,
                Verdict::Continue => continue,
                Verdict::Return => {
                    rules.start = rules.end;
                    continue;
                }
                Verdict::Jump(next) => {
                    // The check of the ruleset bounds the depth.
                    stack[depth] = (rules.start, rules.end);
                    depth += 1;
                    next
                }
                Verdict::Goto(next) => next,
            };
            rules = self.chains[next as usize].rules.clone();
        }
        let chain = &mut self.chains[chain as usize];
        chain.packets += 1;
        chain.bytes += length as u64;
        match chain.base.is_some_and(|base| base.drops) {
            true => Outcome::Policy,
            false => Outcome::Accept,
        }
    }

    #[inline]
    fn rule(
        &mut self,
        number: u32,
        now: Time,
        length: usize,
        packet: &mut Packet,
        loaded: &mut Loaded,
    ) -> Result<Verdict, Outcome> {
        let number = number as usize;
        let mut verdict = Ok(Verdict::Continue);
        for step in &self.steps[self.steps_of(number)] {
            match *step {
                Step::Test(field, test) => {
                    let value = loaded.load(field, packet);
                    if !value.is_some_and(|value| self.holds(test, value)) {
                        return Ok(Verdict::Continue);
                    }
                }
                Step::Choose(field, map) => {
                    let value = loaded.load(field, packet);
                    match value.and_then(|value| self.sets[map as usize].find(value)) {
                        Some(Data::Verdict(found)) => verdict = Ok(found),
                        _ => return Ok(Verdict::Continue),
                    }
                }
                Step::SetMark(source) => {
                    let Some(mark) = source.value(packet, loaded, &self.sets) else {
                        return Ok(Verdict::Continue);
                    };
                    packet.mark = mark;
                    loaded.field = None;
                }
                Step::SetCtMark(source) => {
                    let Some(mark) = source.value(packet, loaded, &self.sets) else {
                        return Ok(Verdict::Continue);
                    };
                    if let Some(tracker) = &mut packet.tracker {
                        tracker.set_mark(&packet.tracked, mark);
                    }
                    loaded.field = None;
                }
                Step::Limit(limit) => {
                    if !self.limits[limit as usize].matches(now, length) {
                        return Ok(Verdict::Continue);
                    }
                }
                Step::Counter(counter) => {
                    let counter = &mut self.counters[counter as usize];
                    counter.packets += 1;
                    counter.bytes += length as u64;
                }
                Step::NoTrack => {
                    packet.untrack();
                    loaded.field = None;
                }
                Step::SetHelper(helper, is_v4) => {
                    let is_version = |is_v4| packet.headers.source.is_ipv4() == is_v4;
                    if let Some(tracker) = &mut packet.tracker
                        && is_v4.is_none_or(is_version)
                    {
                        tracker.set_helper(&packet.tracked, helper);
                    }
                }
                Step::Verdict(own) => verdict = Ok(own),
                Step::Reject(reject) => {
                    if !reject.is_for(packet.headers) {
                        return Ok(Verdict::Continue);
                    }
                    verdict = Err(Outcome::Reject(reject));
                }
                Step::SynProxy(proxy) => {
                    if packet.headers.protocol != packet::ipv4::protocol::TCP {
                        return Ok(Verdict::Continue);
                    }
                    // A segment with neither SYN nor ACK passes by, as in Linux.
                    match proxy.judge(packet) {
                        Some(outcome) => verdict = Err(outcome),
                        None => continue,
                    }
                }
            }
        }
        let rule = &mut self.rules[number];
        rule.packets += 1;
        rule.bytes += length as u64;
        verdict
    }
}

impl Source {
    fn value(self, packet: &Packet, loaded: &mut Loaded, sets: &[Set]) -> Option<u32> {
        let value = match self {
            Source::Value(value) => return Some(value),
            Source::Field(field) => loaded.load(field, packet)?,
            Source::Map(field, map) => {
                let key = loaded.load(field, packet)?;
                match sets[map as usize].find(key)? {
                    Data::Value(value) => value,
                    _ => return None,
                }
            }
        };
        Some(value as u32)
    }
}
