//! Connection tracking as Linux's nf_conntrack has it: states of connections for the rules.
//!
//! A [`Tracker`] sees each packet twice: on its arrival, when it finds the connection and the packet's state in it, and when the
//! packet leaves, which confirms a new connection. A packet that is dropped in between leaves no entry.
//!
//! | state | packets |
//! |---|---|
//! | new | of a connection that only its first host has sent packets of |
//! | established | of a connection with packets both ways |
//! | related | ICMP errors about a packet of a known connection; those of a connection that a [`Helper`] expects, until its first answer |
//! | invalid | of no connection, and able to begin none: broken, outside the window, without a known beginning |
//! | untracked | that a rule with `notrack` has seen; messages of neighbour discovery |
//!
//! - **TCP:** states, windows with scaling and selective acknowledgements, challenge ACKs, see [`TcpState`].
//! - **UDP:** a stream has packets both ways for more than two seconds.
//! - **ICMP:** queries and replies by identifier; errors by the packet that they quote.
//! - **GRE:** by addresses, and of PPTP by the call; assured after the first answer.
//! - **Other protocols:** by addresses.
//! - **Fragments:** the router reassembles packets first.
//! - **Helpers:** FTP and TFTP, for connections to which a rule gives one; each expects one connection at a time, for five minutes.
//! - **Bounds:** at most `max` connections. A new one that finds the table full takes the place of the oldest that is not
//!   assured, or is closing; without any it is dropped. So a flood of SYNs costs `max` entries of [`Tracker::ENTRY_BYTES`]
//!   bytes at most and no established connection.

mod announcement;
pub mod config;
mod headers;
mod helper;
pub(crate) mod sequence;
mod state;
mod table;
mod tcp;
mod tuple;
mod window;

pub(crate) use announcement::Announcement;
pub use config::Config;
pub use headers::Headers;
pub(crate) use helper::EXPECTATION_TIMEOUT;
pub use helper::Helper;
pub use state::TcpState;
pub use tuple::Tuple;

use crate::nat::timers::Timer;
use alloc::string::String;
use alloc::vec::Vec;
use node::random::Random;
use node::{ConfigError, Time};
use packet::ipv4::protocol;
use table::{Entry, Protocol, Table, status};
use tcp::{Answer, Connection, Known};
use window::Segment;

/// Time after which packets both ways make a stream of UDP.
const STREAM: Time = Time::from_secs(2);

/// Direction of a packet in its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// That of the first packet.
    Original,
    /// The other.
    Reply,
}

impl Direction {
    fn other(self) -> Direction {
        match self {
            Direction::Original => Direction::Reply,
            Direction::Reply => Direction::Original,
        }
    }
}

/// State of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Of no connection.
    Invalid,
    /// Of a connection with packets both ways.
    Established,
    /// Of another connection's making.
    Related,
    /// The first one way.
    New,
    /// Not looked at.
    Untracked,
}

/// Translation by a SYN proxy of the sequence numbers and timestamps of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proxied {
    /// Sequence number that the proxy has chosen for the server.
    pub initial: u32,
    /// Timestamp of the proxy's SYN-ACK.
    pub timestamp: u32,
    /// Difference that is added to the server's sequence numbers; `None` until the server has answered.
    pub offset: Option<u32>,
    /// Difference that is subtracted from the server's timestamps.
    pub timestamp_offset: u32,
}

/// Connection of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    None,
    Confirmed(u32),
    /// The new connection with this serial number.
    Pending(u64),
}

/// A packet's connection and state.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// Its state.
    pub state: State,
    /// Its direction.
    pub direction: Direction,
    place: Place,
}

impl Tracked {
    /// A packet that is not looked at.
    pub const UNTRACKED: Tracked = Tracked {
        state: State::Untracked,
        direction: Direction::Original,
        place: Place::None,
    };
    /// A packet of no connection.
    pub const INVALID: Tracked = Tracked {
        state: State::Invalid,
        ..Tracked::UNTRACKED
    };

    /// Whether the tracker may still look at it.
    pub(crate) fn may_be_tracked(&self) -> bool {
        self.state == State::Invalid && !self.has_connection()
    }

    /// The connection and state of the router's own answer to the packet, as the firewall sends it.
    #[must_use]
    pub(crate) fn answer(self) -> Tracked {
        match self.has_connection() {
            true => Tracked {
                state: State::Related,
                direction: self.direction.other(),
                ..self
            },
            false => Tracked::INVALID,
        }
    }

    /// Whether it has a connection.
    pub fn has_connection(&self) -> bool {
        self.place != Place::None
    }
}

/// Counts since the tracker was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections confirmed.
    pub confirmed: u64,
    /// Connections ended by their timeouts, or by a RST.
    pub ended: u64,
    /// Packets of no connection.
    pub invalid: u64,
    /// Connections that made room for another.
    pub early_drops: u64,
    /// Packets dropped because the table was full.
    pub full: u64,
}

impl Counters {
    /// Each counter with its name.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("confirmed", self.confirmed),
            ("ended", self.ended),
            ("invalid", self.invalid),
            ("early_drops", self.early_drops),
            ("full", self.full),
        ]
    }
}

/// The table has no room, and nothing that may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A tracker of connections. Its time does not go back: an earlier time than the last counts as the last.
#[derive(Debug)]
pub struct Tracker {
    config: Config,
    now: Time,
    table: Table,
    /// The connection of the packet that is on its way, and its serial number.
    pending: Entry,
    serial: u64,
    counters: Counters,
}

/// A key that no packet has.
const NO_TUPLE: Tuple = Tuple {
    zone: 0,
    protocol: 0,
    source: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    destination: core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
    ids: [0; 2],
};

impl Tracker {
    /// Maximum number of bytes of a connection in a table that is full: the entry, its timer, and two keys in an index of which a
    /// quarter is in use.
    pub const ENTRY_BYTES: usize = size_of::<Entry>() + 16 + 8 * (size_of::<(Tuple, u32)>() + 1);

    /// A tracker without connections, whose hash tables are keyed by `seed`.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Tracker, ConfigError> {
        config.check()?;
        Ok(Tracker {
            table: Table::new(&mut Random::new(seed)),
            config,
            now: Time::ZERO,
            pending: Entry::new(NO_TUPLE, NO_TUPLE, Protocol::Other),
            serial: 0,
            counters: Counters::default(),
        })
    }

    /// Ends the connections whose time is over at `now`.
    pub fn expire(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some(number) = self.table.expired(self.now) {
            self.table.remove(number);
            self.counters.ended += 1;
        }
    }

    /// Time at which [`expire`](Tracker::expire) may have something to do.
    pub fn next_wake(&self) -> Option<Time> {
        Some(self.table.first()).filter(|&first| first < Time::MAX)
    }

    /// Finds the connection of a packet, or begins one, which [`confirm`](Tracker::confirm) makes known. Checksums are looked at
    /// unless the packet is the router's `own`.
    ///
    /// # Errors
    /// When the table is full; the packet must be dropped.
    pub fn track(
        &mut self,
        now: Time,
        zone: u16,
        frame: &[u8],
        headers: &Headers,
        own: bool,
    ) -> Result<Tracked, Full> {
        self.expire(now);
        let found = self.find(zone, frame, headers, own)?;
        self.counters.invalid += u64::from(found.state == State::Invalid);
        Ok(found)
    }

    fn find(
        &mut self,
        zone: u16,
        frame: &[u8],
        headers: &Headers,
        own: bool,
    ) -> Result<Tracked, Full> {
        let invalid = Ok(Tracked::INVALID);
        let checks = self.config.checksum && !own;
        if checks && !headers.is_checksum_valid(frame) {
            return invalid;
        }
        let Some(tuple) = Tuple::read(zone, frame, headers) else {
            return invalid;
        };
        let [kind, _] = tuple.ids[1].to_be_bytes();
        match (headers.protocol, headers.source.is_ipv4()) {
            (protocol::ICMP, true) if kind > 18 => return invalid,
            (protocol::ICMP, true) if matches!(kind, 3 | 4 | 5 | 11 | 12) => {
                return Ok(self.related(zone, frame, headers));
            }
            (protocol::ICMPV6, false) if matches!(kind, 130..=136 | 143) => {
                return Ok(Tracked::UNTRACKED);
            }
            (protocol::ICMPV6, false) if kind < 128 => {
                return Ok(self.related(zone, frame, headers));
            }
            (protocol::UDP, _) if !is_datagram(frame, headers) => return invalid,
            _ => {}
        }
        let found = self.place(tuple, frame, headers)?;
        // The packet has ended one connection and begins the next.
        match found {
            Some(found) => Ok(found),
            None => Ok(self
                .place(tuple, frame, headers)?
                .unwrap_or(Tracked::INVALID)),
        }
    }

    /// The connection of the packet that an ICMP error quotes, which must have gone to where the error comes from.
    fn related(&self, zone: u16, frame: &[u8], headers: &Headers) -> Tracked {
        let inner = Headers::read(&frame[..headers.end], headers.payload + 8, true);
        let found = inner
            .filter(|inner| inner.source.is_ipv4() == headers.source.is_ipv4())
            .and_then(|inner| Tuple::read(zone, frame, &inner))
            .and_then(Tuple::inverse)
            .and_then(|key| Some((key, self.table.find(key)?)));
        let Some((key, number)) = found.filter(|(key, _)| key.destination == headers.destination)
        else {
            return Tracked::INVALID;
        };
        Tracked {
            state: State::Related,
            direction: self.direction(number, key),
            place: Place::Confirmed(number),
        }
    }

    fn direction(&self, number: u32, key: Tuple) -> Direction {
        match self.table.get(number).original == key {
            true => Direction::Original,
            false => Direction::Reply,
        }
    }

    /// `None` when the packet has ended its connection and may begin another.
    fn place(
        &mut self,
        tuple: Tuple,
        frame: &[u8],
        headers: &Headers,
    ) -> Result<Option<Tracked>, Full> {
        let invalid = Ok(Some(Tracked::INVALID));
        let mut segment = None;
        if headers.protocol == protocol::TCP {
            match Segment::read(frame, headers) {
                Some(read) => segment = Some(read),
                None => return invalid,
            }
        }
        let Some(number) = self.table.find(tuple) else {
            return self.begin(tuple, segment).map(Some);
        };
        let direction = self.direction(number, tuple);
        let entry = self.table.get(number);
        let has_reply = entry.status & status::SEEN_REPLY != 0;
        let found = Tracked {
            state: match direction {
                Direction::Original if !has_reply => entry.first_state(),
                _ => State::Established,
            },
            direction,
            place: Place::Confirmed(number),
        };
        if let Some(segment) = segment {
            match self.take(number, direction, segment) {
                Answer::Invalid => return invalid,
                Answer::Again => {
                    self.table.remove(number);
                    self.counters.ended += 1;
                    return Ok(None);
                }
                Answer::End => {
                    self.pending = *self.table.get(number);
                    self.pending.status |= status::DYING;
                    if direction == Direction::Reply {
                        self.pending.status |= status::SEEN_REPLY;
                    }
                    self.serial += 1;
                    self.table.remove(number);
                    self.counters.ended += 1;
                    let place = Place::Pending(self.serial);
                    return Ok(Some(Tracked { place, ..found }));
                }
                _ => {}
            }
        } else {
            self.refresh(number);
        }
        if direction == Direction::Reply {
            self.table.get_mut(number).status |= status::SEEN_REPLY;
        }
        Ok(Some(found))
    }

    fn take(&mut self, number: u32, direction: Direction, mut segment: Segment) -> Answer {
        let shift = match self.table.shifts(number) {
            Some(shifts) => {
                let acknowledged = segment.acknowledgement.wrapping_sub(1);
                shifts[direction.other() as usize].of(acknowledged)
            }
            None => 0,
        };
        let entry = self.table.get_mut(number);
        let known = Known {
            has_reply: entry.status & status::SEEN_REPLY != 0,
            is_assured: entry.status & status::ASSURED != 0,
            left: entry.timer.expires - self.now,
            is_proxied: entry.proxy.is_some(),
        };
        if direction == Direction::Original {
            segment.offset = entry.proxy.and_then(|proxy| proxy.offset).unwrap_or(0);
        }
        segment.offset = segment.offset.wrapping_add(shift);
        let Protocol::Tcp(tcp) = &mut entry.protocol else {
            return Answer::Invalid;
        };
        let answer = tcp.take(direction, &segment, known, &self.config);
        let timeout = match answer {
            Answer::Restart(timeout, assures) => {
                if assures {
                    entry.status |= status::ASSURED;
                }
                timeout
            }
            Answer::Shorten(timeout) => timeout,
            _ => return answer,
        };
        self.table.set_end(number, self.now + timeout);
        self.table.sort(number);
        match answer {
            Answer::Shorten(_) => Answer::Invalid,
            answer => answer,
        }
    }

    /// Restarts the timer of a connection of another protocol than TCP.
    fn refresh(&mut self, number: u32) {
        let entry = self.table.get_mut(number);
        let mut timeout = self.config.timeout(entry.original.protocol);
        let stream = match entry.protocol {
            Protocol::Udp { stream } => {
                (self.now > stream).then_some(self.config.udp_timeout_stream)
            }
            _ if entry.original.protocol == protocol::GRE => Some(self.config.gre_timeout_stream),
            _ => None,
        };
        if let Some(stream) = stream.filter(|_| entry.status & status::SEEN_REPLY != 0) {
            timeout = stream;
            entry.status |= status::ASSURED;
        }
        self.table.set_end(number, self.now + timeout);
        self.table.sort(number);
    }

    /// Begins a connection, unconfirmed.
    fn begin(&mut self, tuple: Tuple, segment: Option<Segment>) -> Result<Tracked, Full> {
        let Some(reply) = tuple.inverse().filter(|_| tuple.may_begin()) else {
            return Ok(Tracked::INVALID);
        };
        if self.table.len() >= self.config.max as usize {
            if !self.table.drop_early() {
                self.counters.full += 1;
                return Err(Full);
            }
            self.counters.early_drops += 1;
        }
        let parent = self.table.take_expected(self.now, &tuple);
        let mut timeout = self.config.timeout(tuple.protocol);
        let protocol = match (tuple.protocol, segment) {
            (_, Some(segment)) => {
                let begun = Connection::begin(&segment, self.config.tcp_loose);
                let Some(mut tcp) = begun else {
                    return Ok(Tracked::INVALID);
                };
                let known = Known {
                    has_reply: false,
                    is_assured: false,
                    left: Time::ZERO,
                    is_proxied: false,
                };
                match tcp.take(Direction::Original, &segment, known, &self.config) {
                    Answer::Restart(first, _) => timeout = first,
                    Answer::Keep => {}
                    _ => return Ok(Tracked::INVALID),
                }
                Protocol::Tcp(tcp)
            }
            (protocol::UDP, None) => Protocol::Udp {
                stream: self.now + STREAM,
            },
            _ => Protocol::Other,
        };
        self.pending = Entry::new(tuple, reply, protocol);
        self.pending.timer = Timer::until(timeout);
        if let Some(parent) = parent {
            self.pending.status |= status::EXPECTED;
            self.pending.mark = self.table.get(parent).mark;
        }
        self.serial += 1;
        Ok(Tracked {
            state: self.pending.first_state(),
            direction: Direction::Original,
            place: Place::Pending(self.serial),
        })
    }

    /// Makes a packet's new connection known, as the packet leaves. The frame shows how it was translated, and so the key of its
    /// replies. Returns `false` when another connection has one of the keys; the packet must be dropped, as in Linux.
    pub fn confirm(&mut self, tracked: &mut Tracked, frame: &[u8], translates: bool) -> bool {
        let reply = |zone| {
            let headers = Headers::read(frame, ip::header::ETHERNET, false)?;
            Tuple::read(zone, frame, &headers)?.inverse()
        };
        match tracked.place {
            Place::Pending(_) if !self.may_confirm(tracked) => true,
            Place::Pending(serial) if serial == self.serial => {
                let mut entry = self.pending;
                if translates && let Some(reply) = reply(entry.original.zone) {
                    entry.translate(reply);
                }
                entry.status |= status::CONFIRMED;
                entry.timer = Timer::until(self.now + entry.timer.expires);
                match self.table.insert(entry) {
                    Some(number) => tracked.place = Place::Confirmed(number),
                    None => return false,
                }
                self.counters.confirmed += 1;
                true
            }
            Place::Confirmed(number)
                if translates
                    && tracked.direction == Direction::Original
                    && tracked.state != State::Related =>
            {
                let entry = self.table.get_mut(number);
                let Some(reply) = reply(entry.original.zone).filter(|new| *new != entry.reply)
                else {
                    return true;
                };
                if self.table.set_reply(number, reply) {
                    self.table.get_mut(number).translate(reply);
                }
                true
            }
            _ => true,
        }
    }

    /// Makes a packet's new connection an expected one, whose packets are related until its first answer.
    pub(crate) fn make_expected(&mut self, tracked: &mut Tracked) {
        if tracked.place == Place::Pending(self.serial) && tracked.state == State::New {
            self.pending.status |= status::EXPECTED;
            tracked.state = State::Related;
        }
    }

    /// Gives a new connection of a helper's protocol the helper; known connections stay as they are, as in Linux.
    pub fn set_helper(&mut self, tracked: &Tracked, helper: Helper) {
        if tracked.place == Place::Pending(self.serial)
            && self.pending.original.protocol == helper.protocol()
        {
            self.pending.helper = Some(helper);
        }
    }

    /// An answer to a new connection's packet does not confirm it, and one that has ended stays away.
    fn may_confirm(&self, tracked: &Tracked) -> bool {
        tracked.direction == Direction::Original && self.pending.status & status::DYING == 0
    }

    fn entry(&self, tracked: &Tracked) -> Option<&Entry> {
        match tracked.place {
            Place::Confirmed(number) => Some(self.table.get(number)),
            Place::Pending(serial) if serial == self.serial => Some(&self.pending),
            _ => None,
        }
    }

    fn entry_mut(&mut self, tracked: &Tracked) -> Option<&mut Entry> {
        match tracked.place {
            Place::Confirmed(number) => Some(self.table.get_mut(number)),
            Place::Pending(serial) if serial == self.serial => Some(&mut self.pending),
            _ => None,
        }
    }

    /// The mark of a packet's connection.
    pub fn mark(&self, tracked: &Tracked) -> Option<u32> {
        self.entry(tracked).map(|entry| entry.mark)
    }

    /// Marks a packet's connection.
    pub fn set_mark(&mut self, tracked: &Tracked, mark: u32) {
        if let Some(entry) = self.entry_mut(tracked) {
            entry.mark = mark;
        }
    }

    /// The facts about a packet's connection, in the bits of `ct status`.
    pub fn status(&self, tracked: &Tracked) -> Option<u16> {
        self.entry(tracked).map(|entry| entry.status)
    }

    /// State of a packet's TCP connection.
    pub fn tcp_state(&self, tracked: &Tracked) -> Option<TcpState> {
        match self.entry(tracked)?.protocol {
            Protocol::Tcp(tcp) => Some(tcp.state),
            _ => None,
        }
    }

    /// Largest window that the client of a TCP connection has offered.
    pub fn client_window(&self, tracked: &Tracked) -> u32 {
        match self.entry(tracked).map(|entry| entry.protocol) {
            Some(Protocol::Tcp(tcp)) => tcp.sides[0].max_window,
            _ => 0,
        }
    }

    /// The SYN proxy's translation of a packet's connection.
    pub fn proxied(&mut self, tracked: &Tracked) -> Option<&mut Proxied> {
        self.entry_mut(tracked)?.proxy.as_mut()
    }

    /// Makes a packet's connection one of a SYN proxy.
    pub fn make_proxied(&mut self, tracked: &Tracked) {
        if let Some(entry) = self.entry_mut(tracked) {
            entry.proxy = Some(Proxied::default());
        }
    }

    /// Ends a TCP connection that the router has reset.
    pub fn close(&mut self, tracked: &Tracked) {
        let Place::Confirmed(number) = tracked.place else {
            return;
        };
        if let Protocol::Tcp(tcp) = &mut self.table.get_mut(number).protocol {
            tcp.state = TcpState::Close;
            let expires = self.now + self.config.tcp_timeout_close;
            self.table.set_end(number, expires);
            self.table.sort(number);
        }
    }

    /// Number of confirmed connections.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no connection is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts since the tracker was made.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// All connections that live at `now`, in the words of `conntrack -L`, sorted.
    pub fn rows(&self, now: Time) -> Vec<String> {
        let live = self.table.iter().filter(|entry| entry.timer.expires > now);
        let mut rows: Vec<String> = live.map(|entry| entry.text(now)).collect();
        rows.sort_unstable();
        rows
    }
}

impl Config {
    /// Timeout of a new connection of a protocol.
    fn timeout(&self, number: u8) -> Time {
        match number {
            protocol::TCP => self.tcp_timeout_syn_sent,
            protocol::UDP => self.udp_timeout,
            protocol::ICMP => self.icmp_timeout,
            protocol::ICMPV6 => self.icmpv6_timeout,
            protocol::GRE => self.gre_timeout,
            _ => self.generic_timeout,
        }
    }
}

/// Whether the length in a UDP header makes sense.
fn is_datagram(frame: &[u8], headers: &Headers) -> bool {
    let upper = headers.upper(frame).unwrap_or_default();
    let length = upper
        .get(4..8)
        .map(|field| u16::from_be_bytes([field[0], field[1]]));
    length.is_some_and(|length| length >= 8 && usize::from(length) <= upper.len())
}
