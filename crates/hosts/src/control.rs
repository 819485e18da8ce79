//! A control channel over TCP/IP: the segments of port 0 become connections on port 1.
//!
//! - **Ports:** 2: the channel (segments of EtherType 0x88B5, see [`packet::segment`]), and the network.
//! - **Parameters:** `address`, `gateway`, `mac` as a [host's](crate::host); `listen`, none: the port on which
//!   connections are taken, and opened towards port 0; `to`, none: where a connection goes that port 0 opens.
//! - **Counters:** those of a host without programs; `connections`; `open`; `refused`; `bad_segments`.
//!
//! Flow control goes through: what the network's far end does not take is not acknowledged to the channel's sender, and what the
//! channel's end does not acknowledge is not taken from the network, so that its window closes. A lost connection closes
//! the channel's, and the other way round.

use crate::address::{InterfaceAddress, Peer};
use crate::connections::{Id, SocketOptions};
use crate::endpoint::State;
use crate::host::{self, Host};
use crate::net::{Context, Net};
use crate::program::{Binding, Program};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;
use node::ConfigError;
use node::{Flow, Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::segment::{Kind, MAX_DATA_LEN, Segment, WINDOW};

/// The usual port of OpenFlow (IANA).
pub const PORT: u16 = 6653;
const CHANNEL: Port = Port(0);
const NETWORK: Port = Port(1);
/// Maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 4096;
/// Connections that the network opened have numbers from here: the channel's own count from 0.
const OURS: u32 = 1 << 31;
/// After how long without an answer a connection that is to be opened is given up.
const GIVE_UP: Time = Time::from_secs(10);

/// Configuration of the node.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its addresses.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::address::several"))]
    pub address: Vec<InterfaceAddress>,
    /// Who takes what is not for the link.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::address::several"))]
    pub gateway: Vec<IpAddr>,
    /// Its MAC address; `None`: made from the first address.
    pub mac: Option<packet::ethernet::Mac>,
    /// Where connections are taken; `None`: nowhere.
    pub listen: Option<u16>,
    /// Where connections go that the channel opens; `None`: they are refused. Port 6653 unless it says otherwise.
    pub to: Option<Peer>,
}

/// See the module's description.
pub struct Tcp {
    host: Host,
    /// What the host asks for, which is then asked of the world.
    inner: Out,
    bytes: Vec<u8>,
    bad: u64,
}

impl Tcp {
    /// A node.
    ///
    /// # Errors
    /// When it has no address, or is neither to listen nor to connect.
    pub fn new(config: Config, seed: u64) -> Result<Tcp, ConfigError> {
        if config.listen.is_none() && config.to.is_none() {
            return Err(ConfigError {
                key: "to",
                reason: "say where connections go, `to = \"10.0.0.1:6653\"`, or `listen = 6653`"
                    .into(),
            });
        }
        if config.listen == Some(0) {
            return Err(ConfigError {
                key: "listen",
                reason: "a port is from 1 to 65535".into(),
            });
        }
        let host = host::Config {
            address: config.address.clone(),
            gateway: config.gateway.clone(),
            mac: config.mac,
            ..host::Config::default()
        };
        let relay = Relay {
            config,
            numbers: BTreeMap::new(),
            channels: BTreeMap::new(),
            next: OURS,
            speaks: Vec::new(),
        };
        Ok(Tcp {
            host: host::with(&host, Box::new(relay), seed)?,
            inner: Out::default(),
            bytes: Vec::new(),
            bad: 0,
        })
    }

    /// Calls the host, and passes on what it sends.
    fn call(&mut self, out: &mut Out, call: impl FnOnce(&mut Host, &mut Out)) {
        core::mem::swap(out.pool(), self.inner.pool());
        call(&mut self.host, &mut self.inner);
        core::mem::swap(out.pool(), self.inner.pool());
        for departure in self.inner.sends() {
            match departure.when {
                node::out::When::Now => out.send(NETWORK, departure.frame),
                node::out::When::At(at) => out.send_at(NETWORK, at, departure.frame),
            }
        }
        let bytes = &mut self.bytes;
        self.host.spoken(&mut |segment| {
            bytes.clear();
            segment.write(bytes);
            let mut frame = out.frame();
            frame.extend(bytes);
            out.send(CHANNEL, frame);
        });
    }

    fn frame(&mut self, now: Time, frame: Frame, out: &mut Out) {
        match Segment::read(&frame) {
            Ok(segment) => self.call(out, |host, inner| {
                host.segment_of_channel(now, segment, inner)
            }),
            Err(_) => {
                self.bad += 1;
                return out.drop(frame, "no segment of a control channel");
            }
        }
        out.done(frame);
    }
}

impl Node for Tcp {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        if port == NETWORK {
            return self.call(out, |host, inner| {
                host.frames(now, Port(0), frames, inner);
            });
        }
        for frame in frames.drain(..) {
            self.frame(now, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.call(out, |host, inner| host.wake(now, inner));
    }

    fn next_wake(&self) -> Option<Time> {
        self.host.next_wake()
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = self.host.statistics();
        statistics.counter("bad_segments", self.bad);
        let drops = self.inner.drops().iter().map(|(_, count)| count);
        statistics.counter("dropped", drops.sum());
        statistics
    }
}

/// What runs on the host inside.
struct Relay {
    config: Config,
    numbers: BTreeMap<Id, u32>,
    channels: BTreeMap<u32, Channel>,
    next: u32,
    /// Segments for port 0.
    speaks: Vec<Spoken>,
}

/// A segment to be sent.
struct Spoken {
    kind: Kind,
    connection: u32,
    count: u32,
    bytes: Vec<u8>,
}

/// One connection. Counts are modulo 2^32.
struct Channel {
    id: Id,
    /// Whether the channel's end knows that it is open, and wants it.
    open: bool,
    /// Bytes towards the network: those that came, and of those that its far end has, those that the
    /// channel's end knows of.
    came: u32,
    acknowledged: u32,
    /// Bytes that the stack has no room for yet.
    waiting: Vec<u8>,
    /// Bytes from the network: sent to the channel's end, and taken there.
    sent: u32,
    taken: u32,
    /// The channel's end has closed it.
    closed: bool,
    flow: Flow,
}

impl Relay {
    fn options(timeout: Option<Time>) -> SocketOptions {
        SocketOptions {
            buffer: WINDOW as usize,
            timeout,
            ..SocketOptions::default()
        }
    }

    fn speak(&mut self, kind: Kind, connection: u32, count: u32, bytes: Vec<u8>) {
        self.speaks.push(Spoken {
            kind,
            connection,
            count,
            bytes,
        });
    }

    fn add(&mut self, id: Id, number: u32, open: bool, context: &mut Context<'_>) -> String {
        let (own, remote) = context
            .ends(id)
            .map_or_else(Default::default, |(own, remote)| {
                (own.to_string(), remote.to_string())
            });
        let channel = Channel {
            id,
            open,
            came: 0,
            acknowledged: 0,
            waiting: Vec::new(),
            sent: 0,
            taken: 0,
            closed: false,
            flow: Flow {
                program: "tcp",
                from: own,
                to: remote.clone(),
                begun: context.now,
                ended: context.now,
                ..Flow::default()
            },
        };
        self.numbers.insert(id, number);
        self.channels.insert(number, channel);
        remote
    }

    /// The channel's end opens a connection.
    fn open(&mut self, number: u32, context: &mut Context<'_>) {
        if let Some(channel) = self.channels.get_mut(&number) {
            // It answers the network's.
            channel.open |= number >= OURS;
            return;
        }
        let room = number < OURS && self.channels.len() < MAX_CONNECTIONS;
        let to = self.config.to.filter(|_| room);
        let to = to.map(|to| to.with(PORT));
        match to.and_then(|to| context.connect(to, Relay::options(Some(GIVE_UP)))) {
            Some(id) => drop(self.add(id, number, false, context)),
            None => {
                let why = if room {
                    "no route to it"
                } else {
                    "too many connections"
                };
                self.speak(Kind::Close, number, 0, why.into());
            }
        }
    }

    /// Passes on in both directions as much as goes.
    fn pump(&mut self, number: u32, context: &mut Context<'_>) {
        let Some(channel) = self.channels.get_mut(&number) else {
            return;
        };
        let (id, now) = (channel.id, context.now);
        let room = context.room(id, channel.waiting.len() as u64);
        let Some(socket) = context.socket(id) else {
            return;
        };
        let mut speaks = Vec::new();
        if !channel.open && number < OURS && socket.may_send() {
            // Whoever is quiet from now on may be so.
            socket.set_timeout(None);
            channel.open = true;
            speaks.push((Kind::Open, 0, channel.flow.to.clone().into_bytes()));
        }
        let most = room.min(channel.waiting.len());
        if most > 0 && socket.can_send() {
            let sent = socket.send_slice(&channel.waiting[..most]).unwrap_or(0);
            channel.waiting.drain(..sent);
        }
        let kept = (channel.waiting.len() + socket.send_queue()) as u32;
        let there = channel.came.wrapping_sub(kept);
        if there != channel.acknowledged && channel.open {
            channel.acknowledged = there;
            channel.flow.bytes = there.into();
            channel.flow.ended = now;
            speaks.push((Kind::Acknowledge, there, Vec::new()));
        }
        while channel.open && !channel.closed && socket.can_recv() {
            let under_way = channel.sent.wrapping_sub(channel.taken);
            let room = WINDOW.saturating_sub(under_way) as usize;
            if room == 0 {
                break;
            }
            let most = room.min(MAX_DATA_LEN);
            let taken = socket.recv(|bytes| {
                let count = bytes.len().min(most);
                (count, bytes[..count].to_vec())
            });
            let Ok(bytes) = taken else { break };
            let count = channel.sent;
            channel.sent = count.wrapping_add(bytes.len() as u32);
            speaks.push((Kind::Data, count, bytes));
        }
        let ended = socket.state() == State::CloseWait && !socket.can_recv();
        let over = (channel.closed && channel.waiting.is_empty()) || (ended && channel.open);
        if over {
            if !channel.closed {
                speaks.push((Kind::Close, 0, b"closed by the far end".to_vec()));
            }
            channel.closed = true;
            channel.flow.done = true;
            socket.close();
        }
        for (kind, count, bytes) in speaks {
            self.speak(kind, number, count, bytes);
        }
    }
}

impl Program for Relay {
    fn bindings(&self) -> Vec<Binding> {
        let port = self.config.listen;
        let binding = port.map(|port| Binding::Tcp(port, Relay::options(None)));
        binding.into_iter().collect()
    }

    fn segment(&mut self, segment: Segment<'_>, context: &mut Context<'_>) -> Option<Id> {
        let number = segment.connection;
        if segment.kind == Kind::Open {
            self.open(number, context);
        }
        let channel = self
            .channels
            .get_mut(&number)
            .filter(|channel| !channel.closed)?;
        let id = channel.id;
        match segment.kind {
            Kind::Open => {}
            Kind::Data => {
                let fits = channel.waiting.len() + segment.bytes.len() <= WINDOW as usize;
                if segment.count != channel.came || !fits || !channel.open {
                    // A segment was lost, or the sender does not wait: the stream is of no use any more.
                    channel.closed = true;
                    if let Some(socket) = context.socket(id) {
                        socket.abort();
                    }
                    self.speak(Kind::Close, number, 0, "a segment is missing".into());
                    return Some(id);
                }
                channel.came = channel.came.wrapping_add(segment.bytes.len() as u32);
                channel.waiting.extend_from_slice(segment.bytes);
            }
            Kind::Acknowledge => {
                // Not more than was sent.
                let taken = segment.count.wrapping_sub(channel.taken);
                if taken <= channel.sent.wrapping_sub(channel.taken) {
                    channel.taken = segment.count;
                }
            }
            Kind::Close => channel.closed = true,
        }
        self.pump(number, context);
        Some(id)
    }

    fn spoken(&mut self, see: &mut dyn FnMut(Segment<'_>)) {
        for spoken in self.speaks.drain(..) {
            see(Segment {
                kind: spoken.kind,
                connection: spoken.connection,
                count: spoken.count,
                bytes: &spoken.bytes,
            });
        }
    }

    fn ready(&mut self, id: Id, new: bool, context: &mut Context<'_>) {
        if new {
            let number = self.next;
            self.next = self.next.wrapping_add(1) | OURS;
            let remote = self.add(id, number, false, context);
            self.speak(Kind::Open, number, 0, remote.into_bytes());
        }
        if let Some(&number) = self.numbers.get(&id) {
            self.pump(number, context);
        }
    }

    fn over(&mut self, id: Id, context: &mut Context<'_>) {
        let Some(number) = self.numbers.remove(&id) else {
            return;
        };
        if let Some(channel) = self.channels.remove(&number)
            && !channel.closed
        {
            let _ = context;
            let why = if channel.open {
                "connection lost"
            } else {
                "connection refused"
            };
            self.speak(Kind::Close, number, 0, why.into());
        }
    }

    fn flows(&self, net: &Net, visit: &mut dyn FnMut(Flow)) {
        for channel in self.channels.values() {
            let mut flow = channel.flow.clone();
            if let Some(sender) = net.connections.sender(channel.id) {
                sender.report(&mut flow);
            }
            visit(flow);
        }
    }
}
