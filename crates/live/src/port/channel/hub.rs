//! All connections of a port: from sockets to the node, and back.

use super::connection::{Buffer, Connection, Dry, Stage};
use super::error::ConnectionError;
use super::socket::{Socket, Watched, addresses, is_pause};
use super::tls;
use crate::kernel::netns::Namespace;
use crate::kernel::wake::Wake;
use crate::port::{ChannelSpec, Endpoint};
use crate::port::{Options, PortError};
use ::capture::clock::now_ns;
use listen::{Gate, OPENFLOW};
use packet::segment::{Kind, Segment, WINDOW};
use socket2::SockAddr;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// Maximum number of simultaneous connections of a port.
const MAX_CONNECTIONS: usize = OPENFLOW.connections;
/// Connections accepted in one call.
const AT_ONCE: usize = 64;
/// Timeout of connecting and the handshake, ns.
const CONNECTING_NS: u64 = OPENFLOW.opening.as_nanos() as u64;
/// Timeout of a closed connection for sending its pending bytes, ns.
const LEAVING_NS: u64 = 1_000_000_000;
/// Bytes not acknowledged to the node from which on its thread is woken for it.
const MUCH: u32 = WINDOW / 4;

/// The keys of what is no connection.
const LISTENER: u64 = 0;
const WAKE: u64 = 1;

const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;

/// Something to tell the node.
struct Note {
    kind: Kind,
    id: u32,
    text: String,
}

/// All connections of a port.
pub struct Hub {
    name: String,
    spec: ChannelSpec,
    addresses: Vec<SockAddr>,
    tls: Option<tls::Side>,
    /// Where the port was opened, and connections go out.
    home: Option<Namespace>,
    watched: Watched,
    listener: Option<Socket>,
    gate: Arc<Gate>,
    /// Evicted connections at the last check.
    gave_way: u64,
    /// Nothing is accepted until then; 0 when it is.
    rests_until: u64,
    /// Wakes who waits on the watched sockets.
    wake: Wake,
    woken: bool,
    /// By keys of their own, since one that leaves may have the number of one that comes.
    connections: HashMap<u64, Connection>,
    by_id: HashMap<u32, u64>,
    next_key: u64,
    next_id: u32,
    notes: VecDeque<Note>,
    /// Connections with bytes to acknowledge to the node.
    telling: VecDeque<u64>,
    /// Connections with bytes from the node.
    dirty: Vec<u64>,
    /// Connections with a deadline.
    timed: Vec<u64>,
    /// What the kernel said, not yet dealt with.
    ready: VecDeque<(u64, u32)>,
}

impl Hub {
    /// Opens it: who listens does so from now on.
    pub fn open(spec: &ChannelSpec, options: &Options) -> Result<Hub, PortError> {
        let mut name = spec.to_string();
        let failed = |doing, error| PortError::from_io(&spec.to_string(), doing, "rights", error);
        let tls = match spec.tls {
            true => Some(tls::Side::new(&name, spec.listen, options.tls.as_ref())?),
            false => None,
        };
        let addresses = addresses(spec).map_err(|error| failed("looking up the host", error))?;
        let watched = Watched::new().map_err(|error| failed("watching sockets", error))?;
        let mut listener = None;
        if let Some(address) = addresses.first().filter(|_| spec.listen) {
            if let Endpoint::Path(path) = &spec.endpoint {
                // What a process that is gone has left; a file of another kind stays.
                listen::unix::remove_left_over(path);
            }
            // Of TCP only low ports want a right; of a path it is that to write in its folder.
            let right = match &spec.endpoint {
                Endpoint::Host(..) => "CAP_NET_BIND_SERVICE for a port below 1024",
                Endpoint::Path(_) => "the right to write there",
            };
            let refused = |error| PortError::from_io(&spec.to_string(), "listening", right, error);
            let socket = Socket::listen(address).map_err(refused)?;
            let watching = watched.set(&socket, LISTENER, false, Some(IN));
            watching.map_err(|error| failed("watching sockets", error))?;
            if let Some(at) = socket.address() {
                let endpoint = Endpoint::Host(at.ip().to_string(), at.port());
                name = ChannelSpec {
                    endpoint,
                    ..spec.clone()
                }
                .to_string();
            }
            listener = Some(socket);
        }
        let wake = Wake::new().map_err(|error| failed("making what wakes the port", error))?;
        let watching = watched.set(&wake, WAKE, false, Some(IN));
        watching.map_err(|error| failed("watching sockets", error))?;
        Ok(Hub {
            gate: Gate::new(name.as_str(), OPENFLOW),
            name,
            spec: spec.clone(),
            addresses,
            tls,
            home: Namespace::here(),
            watched,
            listener,
            gave_way: 0,
            rests_until: 0,
            wake,
            woken: false,
            connections: HashMap::new(),
            by_id: HashMap::new(),
            next_key: WAKE + 1,
            next_id: 0,
            notes: VecDeque::new(),
            telling: VecDeque::new(),
            dirty: Vec::new(),
            timed: Vec::new(),
            ready: VecDeque::new(),
        })
    }

    /// The port's name, with the number that the system has chosen.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who was let in.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Polls as readable when there is something to do.
    pub fn descriptor(&self) -> RawFd {
        self.watched.as_raw_fd()
    }

    /// Looks what is ready; how many turns of [`fill`](Hub::fill) it takes.
    pub fn poll(&mut self) -> Result<usize, PortError> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 128];
        // What is still to be dealt with comes first, else it would be told twice.
        if self.ready.is_empty() {
            let ready = self.watched.ready(&mut events).map_err(|error| {
                PortError::from_io(&self.name, "watching sockets", "rights", error)
            })?;
            let ready = ready.iter().map(|event| (event.u64, event.events));
            self.ready.extend(ready);
        }
        if !self.timed.is_empty() || self.rests_until > 0 {
            self.expire(now_ns());
        }
        let told = self.notes.len() + self.telling.len();
        Ok(self.ready.len() + told.min(AT_ONCE))
    }

    /// Does one thing, and puts what the node is to be told into the buffer; `false` when nothing is left to do.
    pub fn fill(&mut self, buffer: &mut Buffer) -> bool {
        buffer.clear();
        if self.tell(buffer) {
            return true;
        }
        let Some((key, events)) = self.ready.pop_front() else {
            return false;
        };
        match key {
            LISTENER => self.accept(),
            WAKE => self.woken(),
            key => self.attend(key, events, buffer),
        }
        self.tell(buffer);
        true
    }

    /// Puts opens, closes and acknowledgements into the buffer.
    fn tell(&mut self, buffer: &mut Buffer) -> bool {
        let mut any = false;
        while buffer.has_room()
            && let Some(key) = self.telling.pop_front()
        {
            let Some(connection) = self.connections.get_mut(&key) else {
                continue;
            };
            connection.telling = false;
            connection.told = connection.given.wrapping_sub(connection.waiting() as u32);
            any = true;
            buffer.put(&Segment {
                kind: Kind::Acknowledge,
                connection: connection.id,
                count: connection.told,
                bytes: &[],
            });
        }
        while buffer.has_room()
            && let Some(note) = self.notes.pop_front()
        {
            any = true;
            buffer.put(&Segment {
                kind: note.kind,
                connection: note.id,
                count: 0,
                bytes: note.text.as_bytes(),
            });
        }
        any
    }

    /// Takes a segment from the node.
    pub fn take(&mut self, segment: &Segment<'_>) {
        let id = segment.connection;
        let key = self.by_id.get(&id).copied();
        let connection = key.and_then(|key| self.connections.get_mut(&key));
        let (Some(key), Some(connection)) = (key, connection) else {
            match segment.kind {
                Kind::Open if self.listener.is_none() => self.connect(id, 0),
                Kind::Open => self.refuse(id, &ConnectionError::Listens),
                // It has ended, and the node will read so.
                Kind::Data | Kind::Acknowledge | Kind::Close => {}
            }
            return;
        };
        match segment.kind {
            Kind::Open if connection.stage == Stage::Offered => {
                connection.stage = Stage::Up;
                // The end of the handshake may have brought data with it.
                if connection.has_read_ahead() {
                    self.ready.push_back((key, IN));
                }
                self.interest(key);
            }
            Kind::Open => {}
            Kind::Data => match connection.take(segment) {
                Ok(()) => self.dirty.push(key),
                Err(why) => self.over(key, ConnectionError::Segments(why)),
            },
            Kind::Acknowledge => {
                let was_full = connection.room() == 0;
                connection.acknowledged(segment.count);
                if was_full && connection.room() > 0 {
                    if connection.has_read_ahead() {
                        self.ready.push_back((key, IN));
                    }
                    self.interest(key);
                }
            }
            Kind::Close => {
                self.by_id.remove(&id);
                connection.stage = Stage::Leaving;
                connection.until = now_ns() + LEAVING_NS;
                self.timed.push(key);
                self.dirty.push(key);
            }
        }
    }

    /// Writes what the node has given.
    pub fn write_out(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        // One connection may have had many segments.
        dirty.dedup();
        for key in dirty.drain(..) {
            self.write(key);
        }
        self.dirty = dirty;
        self.settle();
    }

    /// Makes the descriptor readable while there is something to do that no socket shows: data that TLS has
    /// decrypted, or a note for the node. Another thread may sleep on the descriptor meanwhile.
    pub fn settle(&mut self) {
        if !self.ready.is_empty() || !self.notes.is_empty() {
            self.wake();
        }
    }

    fn write(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if matches!(connection.stage, Stage::Connecting | Stage::Handshake) {
            return;
        }
        if let Err(why) = connection.write() {
            return self.over(key, why);
        }
        let waiting = connection.waiting() as u32;
        let written = connection.given.wrapping_sub(waiting);
        if connection.stage == Stage::Leaving {
            if waiting == 0 {
                connection.end();
            }
        } else if written != connection.told {
            let much = written.wrapping_sub(connection.told) >= MUCH;
            if !std::mem::replace(&mut connection.telling, true) {
                self.telling.push_back(key);
            }
            if much {
                self.wake();
            }
        }
        self.interest(key);
    }

    /// Has the kernel look for what the connection is ready for.
    fn interest(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let reads = match connection.stage {
            Stage::Connecting | Stage::Offered => false,
            Stage::Handshake | Stage::Leaving => true,
            Stage::Up => connection.room() > 0,
        };
        let writes = connection.stage == Stage::Connecting || connection.wants_write();
        let events = (if reads { IN } else { 0 }) | (if writes { OUT } else { 0 });
        // Who waits for nothing is not watched at all: the kernel would tell of the far end's end again and again.
        let events = Some(events).filter(|&events| events != 0);
        if events != connection.interest {
            let known = connection.interest.is_some();
            // It can fail for want of memory only; the connection then ends by silence.
            if self
                .watched
                .set(&connection.socket, key, known, events)
                .is_ok()
            {
                connection.interest = events;
            }
        }
    }

    /// Deals with what the kernel says of a connection.
    fn attend(&mut self, key: u64, events: u32, buffer: &mut Buffer) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        match connection.stage {
            Stage::Connecting => match connection.socket.connected() {
                Ok(()) => {
                    connection.stage = Stage::Handshake;
                    self.shake(key);
                }
                // Woken without having got anywhere.
                Err(error) if error.kind() == io::ErrorKind::NotConnected && events & OUT == 0 => {}
                Err(error) => self.unreachable(key, error.into()),
            },
            Stage::Handshake => self.shake(key),
            // The node has not answered: received data waits, records of TLS leave.
            Stage::Offered => self.write(key),
            Stage::Leaving => {
                if events & OUT != 0 {
                    self.write(key);
                }
                self.drain(key);
            }
            Stage::Up => {
                if events & OUT != 0 {
                    self.write(key);
                }
                if events & !OUT != 0 {
                    self.read(key, buffer);
                }
            }
        }
    }

    fn read(&mut self, key: u64, buffer: &mut Buffer) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        match connection.read(buffer) {
            Ok(()) => {
                if connection.has_read_ahead() && connection.room() > 0 {
                    self.ready.push_back((key, IN));
                }
                if connection.room() == 0 || connection.wants_write() {
                    self.interest(key);
                }
            }
            Err(Dry::Later | Dry::NoRoom) => self.interest(key),
            Err(Dry::Over(why)) => self.over(key, why),
        }
    }

    /// Goes on with the handshake; when it is done, the node is told.
    fn shake(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if let (None, Some(side)) = (&connection.tls, &self.tls) {
            let host = match &self.spec.endpoint {
                Endpoint::Host(host, _) => host.as_str(),
                Endpoint::Path(_) => "",
            };
            match side.begin(host) {
                Ok(tls) => connection.tls = Some(Box::new(tls)),
                Err(why) => return self.over(key, why.into()),
            }
        }
        match connection.handshake() {
            Ok(true) => {
                let listening = self.listener.is_some();
                connection.stage = if listening { Stage::Offered } else { Stage::Up };
                let (id, text) = (connection.id, connection.peer.clone());
                self.timed.retain(|&timed| timed != key);
                // A listener's connection is read once the node has answered.
                if !listening && connection.has_read_ahead() {
                    self.ready.push_back((key, IN));
                }
                self.note(Kind::Open, id, text);
            }
            Ok(false) => {}
            Err(why) if self.listener.is_some() => {
                // The node has not seen it yet.
                self.gate.untrusted(&why);
                return self.forget(key);
            }
            Err(why) => return self.over(key, why),
        }
        self.interest(key);
    }

    /// What a far end still sends to a connection that is closed is thrown away, so that it reads what was written.
    fn drain(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let mut nothing = [0; 16_384];
        match connection.socket.read(&mut nothing) {
            Ok(1..) => {}
            Err(error) if is_pause(&error) => {}
            Ok(0) | Err(_) => self.forget(key),
        }
    }

    /// The connection is over, and why.
    fn over(&mut self, key: u64, why: ConnectionError) {
        let Some(connection) = self.connections.get(&key) else {
            return;
        };
        if connection.stage != Stage::Leaving {
            let id = connection.id;
            self.by_id.remove(&id);
            self.refuse(id, &why);
        }
        self.forget(key);
    }

    fn forget(&mut self, key: u64) {
        if let Some(connection) = self.connections.remove(&key) {
            if self.by_id.get(&connection.id) == Some(&key) {
                self.by_id.remove(&connection.id);
            }
            self.timed.retain(|&timed| timed != key);
        }
    }

    /// Tells the node that it has no such connection, and why.
    fn refuse(&mut self, id: u32, why: &ConnectionError) {
        self.note(Kind::Close, id, why.to_string());
    }

    fn note(&mut self, kind: Kind, id: u32, text: String) {
        self.notes.push_back(Note { kind, id, text });
    }

    fn enter(&mut self, id: u32, socket: Socket, stage: Stage, peer: String) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        let until = now_ns() + CONNECTING_NS;
        self.connections
            .insert(key, Connection::new(id, socket, stage, peer, until));
        self.by_id.insert(id, key);
        self.timed.push(key);
        key
    }

    /// Connects for the node, to one of the addresses after the other.
    fn connect(&mut self, id: u32, attempt: usize) {
        if self.connections.len() >= MAX_CONNECTIONS {
            return self.refuse(id, &ConnectionError::TooMany);
        }
        let mut why = ConnectionError::NoAddress;
        for (attempt, address) in self.addresses.iter().enumerate().skip(attempt) {
            let connect = || Socket::connect(address);
            let connected = match &self.home {
                None => connect(),
                // The thread that carries the node's open here may be anywhere.
                Some(home) => home
                    .visit(connect)
                    .unwrap_or_else(|error| Err(io::Error::other(error))),
            };
            match connected {
                Ok(socket) => {
                    let peer = self.name.clone();
                    let key = self.enter(id, socket, Stage::Connecting, peer);
                    if let Some(connection) = self.connections.get_mut(&key) {
                        connection.attempt = attempt;
                    }
                    return self.interest(key);
                }
                Err(error) => why = error.into(),
            }
        }
        self.refuse(id, &why);
    }

    fn unreachable(&mut self, key: u64, why: ConnectionError) {
        let Some(connection) = self.connections.get(&key) else {
            return;
        };
        let (id, next) = (connection.id, connection.attempt + 1);
        match next < self.addresses.len() {
            true => {
                self.forget(key);
                self.connect(id, next);
            }
            false => self.over(key, why),
        }
    }

    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(listener) = &self.listener else {
                return;
            };
            match listener.accept() {
                Ok((socket, _)) if !socket.is_own() => self.gate.other_user(),
                Ok((socket, peer)) => {
                    let permit = self.gate.admit(&socket, socket.far_address());
                    let ended = self.gate.counts().gave_way;
                    if std::mem::replace(&mut self.gave_way, ended) != ended {
                        self.end_those_that_gave_way();
                    }
                    // A connection above the limit is closed at once.
                    let Some(permit) = permit else {
                        continue;
                    };
                    let id = self.free_id();
                    let key = self.enter(id, socket, Stage::Handshake, peer);
                    if let Some(connection) = self.connections.get_mut(&key) {
                        connection.permit = Some(permit);
                    }
                    self.shake(key);
                }
                Err(error) if is_pause(&error) => return,
                // No descriptors, or no memory: others may end meanwhile.
                Err(error) => {
                    let Some(pause) = self.gate.failed(&error) else {
                        continue;
                    };
                    self.rests_until = now_ns() + pause.as_nanos() as u64;
                    let _ = self.watched.set(listener, LISTENER, true, None);
                    return;
                }
            }
        }
    }

    /// Ends connections that were evicted.
    fn end_those_that_gave_way(&mut self) {
        let gave_way = |connection: &Connection| {
            let permit = connection.permit.as_ref();
            permit.is_some_and(listen::Permit::gave_way)
        };
        let of = self.connections.iter();
        let ended = of.filter(|(_, connection)| gave_way(connection));
        let ended: Vec<(u64, Stage)> = ended.map(|(&key, one)| (key, one.stage)).collect();
        for (key, stage) in ended {
            match stage {
                // The node has not seen it yet.
                Stage::Handshake => self.forget(key),
                _ => self.over(key, ConnectionError::GaveWay),
            }
        }
    }

    fn free_id(&mut self) -> u32 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if !self.by_id.contains_key(&self.next_id) {
                return self.next_id;
            }
        }
    }

    /// Ends what has taken too long.
    fn expire(&mut self, now: u64) {
        if self.rests_until > 0 && now >= self.rests_until {
            self.rests_until = 0;
            if let Some(listener) = &self.listener {
                let _ = self.watched.set(listener, LISTENER, false, Some(IN));
            }
        }
        let late = |key: &&u64| self.connections.get(key).is_none_or(|c| c.until <= now);
        let late: Vec<u64> = self.timed.iter().filter(late).copied().collect();
        for key in late {
            match self
                .connections
                .get(&key)
                .map(|connection| connection.stage)
            {
                None | Some(Stage::Leaving) => self.forget(key),
                Some(Stage::Connecting) => self.unreachable(key, ConnectionError::NoAnswer),
                Some(_) if self.listener.is_some() => {
                    self.gate.silent();
                    self.forget(key);
                }
                Some(_) => self.over(key, ConnectionError::NoHandshake),
            }
        }
    }

    fn wake(&mut self) {
        if !std::mem::replace(&mut self.woken, true) {
            self.wake.call();
        }
    }

    fn woken(&mut self) {
        self.woken = false;
        self.wake.take();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let (Endpoint::Path(path), Some(_)) = (&self.spec.endpoint, &self.listener) {
            let _ = std::fs::remove_file(path);
        }
    }
}
