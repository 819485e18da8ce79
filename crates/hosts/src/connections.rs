//! TCP connections of a host, found by their addresses and ports.
//!
//! A map makes a packet cost the same however many connections there are. Checksums are computed and checked, by the vectors of
//! [`packet::checksum`]; nothing is taken on trust.

pub(crate) use crate::endpoint::Sender;
pub use crate::endpoint::{Congestion, Ecn, SocketOptions};

use crate::endpoint::{Egress, Endpoint, Stack};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use ip::header::{Packet, TCP};
use ip::icmp::Report;
use node::{Frame, Out, Time};

/// Maximum number of simultaneous connections of a host.
pub(crate) const MAX_CONNECTIONS: usize = 16_384;
/// Where a client's ports come from (RFC 6335), as many as Linux takes.
const EPHEMERAL: core::ops::Range<u16> = 32_768..61_000;
/// A SYN among the flags of a segment.
const SYN: u8 = 0x02;
const ACK_AND_RST: u8 = 0x14;

/// A connection of a host: an index that may be used again when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

/// One connection, or a listener that waits for its first segment.
struct Connection {
    end: Endpoint,
    key: Key,
    owner: usize,
}

/// Own port, and who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u16, u16, IpAddr);

struct Listener {
    owner: usize,
    options: SocketOptions,
}

/// What came of a segment.
pub(crate) enum Delivery {
    /// For this connection; `true` when it is new.
    To(Id, bool),
    /// For nobody here: it has been refused.
    Refused,
    /// Dropped, with the reason.
    Dropped(&'static str),
}

pub(crate) struct Connections {
    stack: Stack,
    all: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// When each is to be looked at again; [`Time::MAX`] for not until something comes.
    due: Vec<Time>,
    index: BTreeMap<Key, Id>,
    /// The one that a segment came for last: the next one is likely to be for it too.
    last: Option<(Key, Id)>,
    listeners: BTreeMap<u16, Listener>,
    port: u16,
    /// What the clock of connections shows at time zero, if they offer timestamps.
    pub clock: Option<u32>,
    /// Whether connections keep how their congestion windows change.
    pub windows: bool,
}

impl Connections {
    pub fn new(mtu: usize, seed: u64) -> Connections {
        let spread = u64::from(EPHEMERAL.end - EPHEMERAL.start);
        Connections {
            stack: Stack::new(mtu, seed),
            all: Vec::new(),
            free: Vec::new(),
            due: Vec::new(),
            index: BTreeMap::new(),
            last: None,
            listeners: BTreeMap::new(),
            port: EPHEMERAL.start + (seed % spread) as u16,
            clock: None,
            windows: false,
        }
    }

    /// Lets a program have what comes to a port; `false` when another has it.
    pub fn listen(&mut self, port: u16, owner: usize, options: SocketOptions) -> bool {
        let listener = Listener { owner, options };
        let free = !self.listeners.contains_key(&port);
        if free {
            self.listeners.insert(port, listener);
        }
        free
    }

    /// Opens a connection; `None` when there are too many, or no port is free. Its first segment leaves
    /// when it is [driven](Connections::drive).
    pub fn connect(
        &mut self,
        owner: usize,
        from: IpAddr,
        to: SocketAddr,
        options: SocketOptions,
    ) -> Option<Id> {
        let ports = EPHEMERAL.end - EPHEMERAL.start;
        let key = (0..ports).find_map(|_| {
            let port = self.port;
            self.port = if port + 1 < EPHEMERAL.end {
                port + 1
            } else {
                EPHEMERAL.start
            };
            let key = Key(port, to.port(), to.ip());
            let free = !self.index.contains_key(&key) && !self.listeners.contains_key(&port);
            free.then_some(key)
        })?;
        let id = self.put(owner, key, options)?;
        let connection = self.all[id.0 as usize].as_mut().expect("just put in");
        let own = SocketAddr::new(from, key.0);
        if !connection.end.connect(&mut self.stack, own, to) {
            self.remove(id);
            return None;
        }
        Some(id)
    }

    fn put(&mut self, owner: usize, key: Key, options: SocketOptions) -> Option<Id> {
        if self.all.len() - self.free.len() >= MAX_CONNECTIONS {
            return None;
        }
        let mut end = Endpoint::new(self.stack.mtu, key.2, options);
        if let Some(clock) = self.clock {
            end.offer_timestamps(Time::ZERO, clock);
        }
        if self.windows {
            end.keep_windows();
        }
        let connection = Some(Box::new(Connection { end, key, owner }));
        let index = match self.free.pop() {
            Some(index) => {
                self.all[index as usize] = connection;
                index
            }
            None => {
                self.all.push(connection);
                self.due.push(Time::MAX);
                (self.all.len() - 1) as u32
            }
        };
        self.index.insert(key, Id(index));
        Some(Id(index))
    }

    /// Forgets a connection, whatever its state.
    pub fn remove(&mut self, id: Id) {
        if let Some(connection) = self.all[id.0 as usize].take() {
            self.index.remove(&connection.key);
            self.due[id.0 as usize] = Time::MAX;
            self.free.push(id.0);
            self.last = None;
        }
    }

    /// Whose it is.
    pub fn owner(&self, id: Id) -> Option<usize> {
        let connection = self.all.get(id.0 as usize)?.as_ref()?;
        Some(connection.owner)
    }

    pub fn socket(&mut self, id: Id) -> Option<&mut Endpoint> {
        let connection = self.all.get_mut(id.0 as usize)?.as_mut()?;
        Some(&mut connection.end)
    }

    /// What was measured of it.
    pub fn sender(&self, id: Id) -> Option<&Sender> {
        let connection = self.all.get(id.0 as usize)?.as_ref()?;
        Some(connection.end.sender())
    }

    /// Whether it is over, but for the time that a closed port is to rest.
    pub fn is_over(&self, id: Id) -> bool {
        let Some(Some(connection)) = self.all.get(id.0 as usize) else {
            return true;
        };
        connection.end.is_over()
    }

    /// The ends of a connection: the own port, and who is there.
    pub fn ends(&self, id: Id) -> Option<(u16, SocketAddr)> {
        let Key(own, port, address) = self.all.get(id.0 as usize)?.as_ref()?.key;
        Some((own, SocketAddr::new(address, port)))
    }

    /// A router reports that a segment was too long for a link: its connection, if it is one of these, sends shorter ones when it is
    /// [driven](Connections::drive) next (RFC 1191, RFC 8201).
    pub fn too_big(&mut self, report: &Report) -> Option<Id> {
        let mtu = report.too_big().filter(|_| report.protocol == TCP)?;
        let [a, b, c, d, sequence @ ..] = report.begin;
        let [own, far] = [[a, b], [c, d]].map(u16::from_be_bytes);
        let id = *self.index.get(&Key(own, far, report.destination))?;
        let end = self.socket(id)?;
        let sequence = u32::from_be_bytes(sequence);
        end.too_big(sequence, mtu, report.destination).then_some(id)
    }

    /// Takes a segment, whose checksum is right, to where it belongs.
    pub fn segment(
        &mut self,
        now: Time,
        frame: &Frame,
        packet: &Packet,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> Delivery {
        let bytes = &frame[packet.payload..packet.end];
        let Some(header) = bytes.first_chunk::<20>() else {
            return Delivery::Refused;
        };
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let key = Key(port(2), port(0), packet.source);
        let flags = header[13];
        let known = match self.last {
            Some((last, id)) if last == key => Some(id),
            _ => self.index.get(&key).copied(),
        };
        let (id, new) = match known {
            Some(id) => (Some(id), false),
            None if flags & (SYN | ACK_AND_RST) == SYN => (self.accept(key), true),
            None => (None, false),
        };
        match id.and_then(|id| self.all[id.0 as usize].as_deref_mut()) {
            Some(connection) => {
                let end = &mut connection.end;
                if let Err(reason) = end.take(&mut self.stack, now, frame, packet, egress, out) {
                    return Delivery::Dropped(reason);
                }
            }
            None => self.stack.refuse(now, frame, egress, out),
        }
        let Some(id) = id else {
            return Delivery::Refused;
        };
        self.last = Some((key, id));
        if new && !self.socket(id).is_some_and(|socket| socket.is_active()) {
            self.remove(id);
            return Delivery::Refused;
        }
        Delivery::To(id, new)
    }

    /// A connection for somebody who knocks, if there is a listener.
    fn accept(&mut self, key: Key) -> Option<Id> {
        let listener = self.listeners.get(&key.0)?;
        let (owner, options) = (listener.owner, listener.options);
        let id = self.put(owner, key, options)?;
        self.all[id.0 as usize].as_mut()?.end.listen();
        Some(id)
    }

    /// Sends what a connection has to send by now, and notes when it is due again.
    pub fn drive(&mut self, now: Time, id: Id, egress: &mut dyn Egress, out: &mut Out) {
        if let Some(Some(connection)) = self.all.get_mut(id.0 as usize) {
            let end = &mut connection.end;
            self.due[id.0 as usize] = end.drive(now, egress, out);
        }
    }

    /// When the first of them is due.
    pub fn next(&self) -> Option<Time> {
        let first = self.due.iter().copied().min();
        first.filter(|&first| first < Time::MAX)
    }

    /// One that is due, if there is one.
    pub fn due(&self, now: Time) -> Option<Id> {
        let found = self.due.iter().position(|&due| due <= now);
        found.map(|index| Id(index as u32))
    }

    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
