//! TCP: smoltcp's sockets, each by itself, told apart by their addresses and ports, with a [sender](Sender) of ours.
//!
//! smoltcp looks through all sockets of a set for every packet; a set of one for each connection, found
//! in a map, makes a packet cost the same however many connections there are. Checksums are computed
//! and checked here, by the vectors of [`packet::checksum`]; nothing is taken on trust.

mod device;
mod sender;

pub(crate) use sender::Sender;

use crate::address::Network;
use crate::ip::Packet;
use crate::neighbours::Neighbours;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use device::Device;
use node::{Frame, Out, Time};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::tcp::{self, Socket, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpCidr, IpListenEndpoint};

/// Connections that one host may have at once.
pub(crate) const MOST: usize = 16_384;
/// Where a client's ports come from (RFC 6335), as many as Linux takes.
const EPHEMERAL: core::ops::Range<u16> = 32_768..61_000;
const PS_PER_US: u64 = 1_000_000;
/// A SYN among the flags of a segment.
const SYN: u8 = 0x02;
const ACK_AND_RST: u8 = 0x14;

/// A connection of a host: an index that may be used again when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

/// Which congestion control a sender has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Congestion {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 5681.
    Reno,
    /// None: as much as the receiver takes.
    None,
}

/// What a connection is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Bytes of the buffer in each direction; the window is never more.
    pub buffer: usize,
    pub congestion: Congestion,
    /// After how long without a sign of the other side it is given up.
    pub timeout: Option<Time>,
}

/// One connection, or a listener that waits for its first segment.
struct Connection {
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    key: Key,
    owner: usize,
    sender: Sender,
}

/// Own port, and who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u16, u16, IpAddr);

struct Listener {
    owner: usize,
    manner: Manner,
}

/// What came of a segment.
pub(crate) enum Came {
    /// For this connection; `true` when it is new.
    For(Id, bool),
    /// For nobody here: it has been refused.
    Nobody,
}

pub(crate) struct Connections {
    interface: Interface,
    all: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// When each is to be looked at again; [`Time::MAX`] for not until something comes.
    due: Vec<Time>,
    index: BTreeMap<Key, Id>,
    /// The one that a segment came for last: the next one is likely to be for it too.
    last: Option<(Key, Id)>,
    listeners: BTreeMap<u16, Listener>,
    nobody: SocketSet<'static>,
    mtu: usize,
    port: u16,
}

/// Whether one sequence number is behind another, that is, greater.
fn behind(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The stack counts whole microseconds, and is told the last that has begun: no timer is early.
fn instant(now: Time) -> Instant {
    Instant::from_micros((now.as_ps() / PS_PER_US) as i64)
}

fn duration(time: Time) -> Duration {
    Duration::from_micros(time.as_ps().div_ceil(PS_PER_US))
}

impl Connections {
    pub fn new(networks: &[Network], mtu: usize, seed: u64) -> Connections {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device::Nothing(mtu), Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            for network in networks {
                // As many as there is room for; the configuration has been checked.
                let _ = addresses.push(IpCidr::new(network.address.into(), network.prefix));
            }
        });
        let spread = u64::from(EPHEMERAL.end - EPHEMERAL.start);
        Connections {
            interface,
            all: Vec::new(),
            free: Vec::new(),
            due: Vec::new(),
            index: BTreeMap::new(),
            last: None,
            listeners: BTreeMap::new(),
            nobody: SocketSet::new(Vec::new()),
            mtu,
            port: EPHEMERAL.start + (seed % spread) as u16,
        }
    }

    /// Lets a program have what comes to a port; `false` when another has it.
    pub fn listen(&mut self, port: u16, owner: usize, manner: Manner) -> bool {
        let listener = Listener { owner, manner };
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
        out: &mut Out,
        owner: usize,
        from: IpAddr,
        to: SocketAddr,
        manner: Manner,
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
        let id = self.put(owner, key, manner)?;
        let connection = self.all[id.0 as usize].as_mut().expect("just put in");
        let socket = connection.sockets.get_mut::<Socket<'_>>(connection.handle);
        let asked = socket.connect(
            self.interface.context(),
            (smoltcp::wire::IpAddress::from(to.ip()), to.port()),
            (smoltcp::wire::IpAddress::from(from), key.0),
        );
        if asked.is_err() {
            self.remove(id, out);
            return None;
        }
        Some(id)
    }

    fn put(&mut self, owner: usize, key: Key, manner: Manner) -> Option<Id> {
        if self.all.len() - self.free.len() >= MOST {
            return None;
        }
        let mss = self.mtu - crate::ip::header(key.2) - 20;
        let buffer = || tcp::SocketBuffer::new(vec![0; manner.buffer]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_timeout(manner.timeout.map(duration));
        // Congestion is the sender's matter, see there.
        socket.set_congestion_control(tcp::CongestionControl::None);
        let mut sockets = SocketSet::new(vec![SocketStorage::EMPTY]);
        let handle = sockets.add(socket);
        let connection = Some(Box::new(Connection {
            sockets,
            handle,
            key,
            owner,
            sender: Sender::new(manner.congestion, mss),
        }));
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
    pub fn remove(&mut self, id: Id, out: &mut Out) {
        if let Some(mut connection) = self.all[id.0 as usize].take() {
            connection.sender.clear(out);
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

    pub fn socket(&mut self, id: Id) -> Option<&mut Socket<'static>> {
        let connection = self.all.get_mut(id.0 as usize)?.as_mut()?;
        Some(connection.sockets.get_mut(connection.handle))
    }

    /// What was measured of it.
    pub fn sender(&self, id: Id) -> Option<&Sender> {
        let connection = self.all.get(id.0 as usize)?.as_ref()?;
        Some(&connection.sender)
    }

    /// Whether it is over, but for the time that a closed port is to rest.
    pub fn is_over(&self, id: Id) -> bool {
        let Some(Some(connection)) = self.all.get(id.0 as usize) else {
            return true;
        };
        let socket = connection.sockets.get::<Socket<'_>>(connection.handle);
        matches!(socket.state(), State::Closed | State::TimeWait)
    }

    /// The ends of a connection: the own port, and who is there.
    pub fn ends(&self, id: Id) -> Option<(u16, SocketAddr)> {
        let Key(own, port, address) = self.all.get(id.0 as usize)?.as_ref()?.key;
        Some((own, SocketAddr::new(address, port)))
    }

    /// Takes a segment, whose checksum is right, to where it belongs.
    pub fn segment(
        &mut self,
        now: Time,
        frame: &Frame,
        packet: &Packet,
        neighbours: &mut Neighbours,
        out: &mut Out,
    ) -> Came {
        let bytes = &frame[packet.payload..packet.end];
        let Some(header) = bytes.first_chunk::<20>() else {
            return Came::Nobody;
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
        let (sockets, mut sender) = match id.and_then(|id| self.all[id.0 as usize].as_deref_mut()) {
            Some(connection) => (&mut connection.sockets, Some(&mut connection.sender)),
            None => (&mut self.nobody, None),
        };
        if let Some(sender) = &mut sender {
            sender.comes(now, bytes, out);
            sender.resend(now, neighbours, out);
        }
        let mut device = Device {
            incoming: Some(&frame[crate::ip::ETHERNET..packet.end]),
            mtu: self.mtu,
            now,
            neighbours,
            sender,
            out,
        };
        self.interface
            .poll_ingress_single(instant(now), &mut device, sockets);
        let Some(id) = id else { return Came::Nobody };
        self.last = Some((key, id));
        if new && !self.socket(id).is_some_and(|socket| socket.is_active()) {
            self.remove(id, out);
            return Came::Nobody;
        }
        Came::For(id, new)
    }

    /// A connection for somebody who knocks, if there is a listener.
    fn accept(&mut self, key: Key) -> Option<Id> {
        let listener = self.listeners.get(&key.0)?;
        let (owner, manner) = (listener.owner, listener.manner);
        let id = self.put(owner, key, manner)?;
        let end = IpListenEndpoint {
            addr: None,
            port: key.0,
        };
        // It is neither open nor is its port 0.
        self.socket(id)?.listen(end).ok()?;
        Some(id)
    }

    /// Sends what a connection has to send by now, and notes when it is due again.
    pub fn drive(&mut self, now: Time, id: Id, neighbours: &mut Neighbours, out: &mut Out) {
        let Some(Some(connection)) = self.all.get_mut(id.0 as usize) else {
            return;
        };
        let at = instant(now);
        connection.sender.expire(now);
        connection.sender.resend(now, neighbours, out);
        let mut device = Device {
            incoming: None,
            mtu: self.mtu,
            now,
            neighbours,
            sender: Some(&mut connection.sender),
            out,
        };
        let sockets = &mut connection.sockets;
        while self.interface.poll_egress(at, &mut device, sockets) == PollResult::SocketStateChanged
        {
        }
        let next = self.interface.poll_at(at, sockets);
        let next = next.map_or(Time::MAX, |next| {
            // What is due at once has just been done; were it not, the next microsecond is for it.
            let us = next.total_micros().max(at.total_micros() + 1);
            Time::from_us(us as u64)
        });
        let expires = connection.sender.expires().unwrap_or(Time::MAX);
        self.due[id.0 as usize] = next.min(expires);
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

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
