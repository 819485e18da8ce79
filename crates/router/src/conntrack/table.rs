//! Connections by their keys, with timers and a limit.

use super::helper::{EXPECTATION_TIMEOUT, Expected, Help, Helper};
use super::sequence::Shift;
use super::tcp::Connection;
use super::tuple::Tuple;
use crate::nat::index::{Index, NONE, Slab};
use crate::nat::timers::{Timed, Timer, Timers};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::Time;
use node::random::Random;
use packet::ipv4::protocol;

/// Facts about a connection; the bits of `ct status` in nftables.
pub(super) mod status {
    pub const EXPECTED: u16 = 1;
    pub const SEEN_REPLY: u16 = 1 << 1;
    pub const ASSURED: u16 = 1 << 2;
    pub const CONFIRMED: u16 = 1 << 3;
    pub const SNAT: u16 = 1 << 4;
    pub const DNAT: u16 = 1 << 5;
    pub const DYING: u16 = 1 << 9;
}

/// State of a connection's protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Tcp(Connection),
    /// The time from which packets both ways make a stream.
    Udp {
        stream: Time,
    },
    Other,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub original: Tuple,
    pub reply: Tuple,
    pub timer: Timer,
    pub status: u16,
    pub mark: u32,
    pub protocol: Protocol,
    /// Reader of its packets.
    pub helper: Option<Helper>,
    /// Translation of a SYN proxy.
    pub proxy: Option<super::Proxied>,
    /// Neighbours in the order in which entries are dropped early.
    older: u32,
    newer: u32,
    is_droppable: bool,
}

impl Timed for Entry {
    fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl Entry {
    pub fn new(original: Tuple, reply: Tuple, protocol: Protocol) -> Entry {
        Entry {
            original,
            reply,
            timer: Timer::default(),
            status: 0,
            mark: 0,
            protocol,
            helper: None,
            proxy: None,
            older: NONE,
            newer: NONE,
            is_droppable: false,
        }
    }

    /// Takes the key of replies after a translation.
    pub fn translate(&mut self, reply: Tuple) {
        self.reply = reply;
        let plain = self.original.inverse().unwrap_or(reply);
        self.status &= !(status::SNAT | status::DNAT);
        if (reply.destination, reply.ids[1]) != (plain.destination, plain.ids[1]) {
            self.status |= status::SNAT;
        }
        if reply.source != plain.source {
            self.status |= status::DNAT;
        }
    }

    /// State of its packets before the first answer.
    pub fn first_state(&self) -> super::State {
        match self.status & status::EXPECTED {
            0 => super::State::New,
            _ => super::State::Related,
        }
    }

    /// Whether a full table may drop it.
    fn may_be_dropped(&self) -> bool {
        let closing = matches!(self.protocol, Protocol::Tcp(tcp) if tcp.state.is_closing());
        self.status & status::ASSURED == 0 || closing
    }

    /// The entry as `conntrack -L` shows it.
    pub fn text(&self, now: Time) -> String {
        let number = self.original.protocol;
        let (name, state) = match (self.protocol, number) {
            (Protocol::Tcp(tcp), _) => ("tcp", Some(tcp.state.name())),
            (Protocol::Udp { .. }, _) => ("udp", None),
            (_, protocol::ICMP) => ("icmp", None),
            (_, protocol::ICMPV6) => ("icmpv6", None),
            (_, protocol::GRE) => ("gre", None),
            _ => ("unknown", None),
        };
        let left = (self.timer.expires - now).as_ps() / Time::from_secs(1).as_ps();
        let mut text = format!("{name:8} {number} {left} ");
        if let Some(state) = state {
            text += state;
            text.push(' ');
        }
        text += &self.original.text();
        if self.status & status::SEEN_REPLY == 0 {
            text += " [UNREPLIED]";
        }
        text.push(' ');
        text += &self.reply.text();
        if self.status & status::ASSURED != 0 {
            text += " [ASSURED]";
        }
        text += &format!(" mark={}", self.mark);
        if let Some(helper) = self.helper {
            text += &format!(" helper={}", helper.name());
        }
        text
    }
}

/// All confirmed connections.
#[derive(Debug)]
pub(super) struct Table {
    entries: Slab<Entry>,
    index: Index<Tuple>,
    timers: Timers,
    /// Knowledge of helpers about connections, by their number.
    helps: BTreeMap<u32, Help>,
    /// Connections that are expected, each with the number of the one that has announced it and the time at which it is given up.
    /// Each connection announces one at a time.
    expected: BTreeMap<Expected, (u32, Time)>,
    /// Expectations that expired unused.
    withdrawn: Vec<Expected>,
    /// Ends of the list of entries that may be dropped early, in the order in which they were confirmed.
    oldest: u32,
    newest: u32,
}

impl Table {
    pub fn new(random: &mut Random) -> Table {
        Table {
            entries: Slab::new(),
            index: Index::new([random.bits(), random.bits()]),
            timers: Timers::default(),
            helps: BTreeMap::new(),
            expected: BTreeMap::new(),
            withdrawn: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn get(&self, number: u32) -> &Entry {
        &self.entries[number]
    }

    pub fn get_mut(&mut self, number: u32) -> &mut Entry {
        &mut self.entries[number]
    }

    pub fn find(&self, key: Tuple) -> Option<u32> {
        self.index.get(key)
    }

    /// Adds an entry; `None` when one of its keys is there already.
    pub fn insert(&mut self, entry: Entry) -> Option<u32> {
        let [original, reply] = [entry.original, entry.reply];
        if self.find(original).is_some() || self.find(reply).is_some() {
            return None;
        }
        let number = self.entries.insert(entry);
        self.index.insert(original, number);
        // A host that sends to itself has one key for both.
        if original != reply {
            self.index.insert(reply, number);
        }
        self.timers.start(&mut self.entries, number);
        self.sort(number);
        Some(number)
    }

    pub fn remove(&mut self, number: u32) {
        if self.entries[number].helper.is_some()
            && let Some(help) = self.helps.remove(&number)
            && let Some(expected) = help.expects
        {
            self.expected.remove(&expected);
            self.withdrawn.push(expected);
        }
        let [original, reply] = [self.entries[number].original, self.entries[number].reply];
        self.index.remove(original);
        self.index.remove(reply);
        self.timers.stop(&mut self.entries, number);
        self.unlink(number);
        self.entries.remove(number);
    }

    /// Knowledge of the helper of a connection.
    pub fn help(&mut self, number: u32) -> &mut Help {
        self.helps.entry(number).or_default()
    }

    /// Changes of the sequence numbers of a connection's sides, if there are any.
    pub fn shifts(&self, number: u32) -> Option<&[Shift; 2]> {
        self.entries[number].helper?;
        let shifts = &self.helps.get(&number)?.shifts;
        let is_changed = shifts.iter().any(|shift| !shift.is_none());
        is_changed.then_some(shifts)
    }

    /// The next expectation that expired unused.
    pub fn poll_withdrawn(&mut self) -> Option<Expected> {
        self.withdrawn.pop()
    }

    /// Whether a connection may announce another: no other connection has announced the same.
    pub fn may_expect(&self, now: Time, number: Option<u32>, expected: &Expected) -> bool {
        let known = self.expected.get(expected);
        known.is_none_or(|(parent, until)| Some(*parent) == number || *until <= now)
    }

    /// Notes what a connection has announced, in the place of what it has announced before.
    pub fn expect(&mut self, now: Time, number: u32, expected: Expected) {
        let before = self.help(number).expects.replace(expected);
        if let Some(before) = before.filter(|before| *before != expected) {
            self.expected.remove(&before);
            self.withdrawn.push(before);
        }
        let entry = (number, now + EXPECTATION_TIMEOUT);
        if let Some((other, _)) = self.expected.insert(expected, entry)
            && other != number
            && let Some(help) = self.helps.get_mut(&other)
        {
            help.expects = None;
        }
    }

    /// Takes the expectation of a connection's first packet; the number of the connection that has announced it.
    pub fn take_expected(&mut self, now: Time, tuple: &Tuple) -> Option<u32> {
        if self.expected.is_empty() {
            return None;
        }
        let (number, until) = self.expected.remove(&Expected::of(tuple))?;
        if let Some(help) = self.helps.get_mut(&number) {
            help.expects = None;
        }
        (until > now).then_some(number)
    }

    /// Changes the key of the reply; `false` when another entry has it.
    pub fn set_reply(&mut self, number: u32, reply: Tuple) -> bool {
        if self.find(reply).is_some_and(|other| other != number) {
            return false;
        }
        let entry = &mut self.entries[number];
        let old = core::mem::replace(&mut entry.reply, reply);
        let original = entry.original;
        if old != original {
            self.index.remove(old);
        }
        if reply != original {
            self.index.insert(reply, number);
        }
        true
    }

    /// Sets the time at which an entry ends.
    pub fn set_end(&mut self, number: u32, expires: Time) {
        self.entries[number].timer.expires = expires;
        self.timers.change(&mut self.entries, number);
    }

    /// The entry whose time is over first, if it is at `now`.
    pub fn expired(&mut self, now: Time) -> Option<u32> {
        self.timers.expired(now, &mut self.entries)
    }

    /// Time at which the first entry may end; [`Time::MAX`] when there is none.
    pub fn first(&self) -> Time {
        self.timers.first()
    }

    /// Removes the oldest entry that may be dropped; `false` when there is none.
    pub fn drop_early(&mut self) -> bool {
        match self.oldest {
            NONE => false,
            oldest => {
                self.remove(oldest);
                true
            }
        }
    }

    /// Takes a change of an entry's state into account for the order of early drops.
    pub fn sort(&mut self, number: u32) {
        let entry = &self.entries[number];
        match (entry.may_be_dropped(), entry.is_droppable) {
            (true, false) => self.link(number),
            (false, true) => self.unlink(number),
            _ => {}
        }
    }

    fn link(&mut self, number: u32) {
        let newest = core::mem::replace(&mut self.newest, number);
        let entry = &mut self.entries[number];
        (entry.older, entry.newer, entry.is_droppable) = (newest, NONE, true);
        match newest {
            NONE => self.oldest = number,
            newest => self.entries[newest].newer = number,
        }
    }

    fn unlink(&mut self, number: u32) {
        let entry = &mut self.entries[number];
        if !core::mem::take(&mut entry.is_droppable) {
            return;
        }
        let (older, newer) = (entry.older, entry.newer);
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer].older = older,
        }
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.timers.numbers().map(|number| &self.entries[number])
    }
}
