//! Takes what comes to a port, by TCP and by UDP, and counts it.
//!
//! `port`, 5001; `buffer`, 6 MiB: of each connection; `congestion`, `cubic`: `dctcp` for senders with DCTCP; `ecn`, `passive`, see [`Ecn`];
//! `min_rto`, 200 ms. Of datagrams with a [probe](measure::probe) the loss, the delay
//! from when they were meant to leave, and the jitter (RFC 3550 section 6.4.1) are known.

use super::records::Records;
use super::{BUFFER, BUFFERS, Binding, Congestion, Context, Ecn, MIN_RTO, Net, Program};
use crate::connections::{Id, SocketOptions};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::net::SocketAddr;
use measure::probe::Probe;
use node::{Flow, Time};

/// Senders of datagrams that are told apart.
const SENDERS: usize = 4096;

/// What a sink is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Of TCP and of UDP.
    pub port: u16,
    /// Bytes of a connection's buffer in each direction.
    pub buffer: usize,
    /// Congestion control; with `dctcp` its acknowledgements are DCTCP's too.
    pub congestion: Congestion,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Minimum retransmission time-out, see [`SocketOptions::min_rto`]: 1 us to 60 s.
    pub min_rto: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            port: super::bulk::PORT,
            buffer: BUFFER,
            congestion: Congestion::Cubic,
            ecn: Ecn::Passive,
            min_rto: MIN_RTO,
        }
    }
}

pub(crate) struct Sink {
    config: Config,
    open: BTreeMap<Id, Flow>,
    over: Records,
    senders: BTreeMap<SocketAddr, Sender>,
    /// Datagrams of more senders than are told apart.
    unknown: Flow,
}

/// Somebody's datagrams.
struct Sender {
    flow: Flow,
    /// The first and the last of their numbers; `None`: they have none.
    numbers: Option<(u64, u64)>,
    /// The delay of the one before, and 16 times the jitter, in picoseconds.
    before: u64,
    jitter: u64,
}

impl Sink {
    pub fn new(config: Config) -> Sink {
        Sink {
            config,
            open: BTreeMap::new(),
            over: Records::default(),
            senders: BTreeMap::new(),
            unknown: Flow {
                program: "sink",
                from: "others".into(),
                ..Flow::default()
            },
        }
    }
}

impl Program for Sink {
    fn bindings(&self) -> Vec<Binding> {
        let options = SocketOptions {
            buffer: self.config.buffer.clamp(*BUFFERS.start(), *BUFFERS.end()),
            congestion: self.config.congestion,
            ecn: self.config.ecn,
            min_rto: self.config.min_rto,
            ..SocketOptions::default()
        };
        [
            Binding::Tcp(self.config.port, options),
            Binding::Udp(self.config.port),
        ]
        .into()
    }

    fn ready(&mut self, id: Id, new: bool, context: &mut Context<'_>) {
        if new {
            let (own, remote) = context
                .ends(id)
                .map_or_else(Default::default, |(own, remote)| {
                    (own.to_string(), remote.to_string())
                });
            let flow = Flow {
                program: "sink",
                from: own,
                to: remote,
                begun: context.now,
                ended: context.now,
                ..Flow::default()
            };
            self.open.insert(id, flow);
        }
        let Some(flow) = self.open.get_mut(&id) else {
            return;
        };
        let now = context.now;
        let Some(socket) = context.socket(id) else {
            return;
        };
        let mut came = 0;
        while socket.can_recv() {
            came += socket.recv(|bytes| (bytes.len(), bytes.len())).unwrap_or(0);
        }
        if came > 0 {
            flow.bytes += came as u64;
            flow.packets += 1;
            flow.ended = now;
        }
        // The far end has said all.
        if !socket.may_recv() && socket.may_send() && !flow.done {
            flow.done = true;
            socket.close();
        }
    }

    fn over(&mut self, id: Id, _: &mut Context<'_>) {
        if let Some(flow) = self.open.remove(&id) {
            self.over.add(flow);
        }
    }

    fn datagram(
        &mut self,
        arrived: Time,
        from: SocketAddr,
        port: u16,
        payload: &[u8],
        context: &mut Context<'_>,
    ) {
        let full = self.senders.len() >= SENDERS;
        let sender = match self.senders.get_mut(&from) {
            Some(sender) => sender,
            None if full => {
                self.unknown.packets += 1;
                self.unknown.bytes += payload.len() as u64;
                return;
            }
            None => {
                let own = context.source(from.ip());
                let own = own.map(|own| SocketAddr::new(own, port).to_string());
                let flow = Flow {
                    program: "sink",
                    from: own.unwrap_or_default(),
                    to: from.to_string(),
                    begun: arrived,
                    ..Flow::default()
                };
                self.senders.entry(from).or_insert(Sender {
                    flow,
                    numbers: None,
                    before: 0,
                    jitter: 0,
                })
            }
        };
        sender.take(arrived, payload);
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        self.over.show(visit);
        for flow in self.open.values() {
            visit(flow.clone());
        }
        for sender in self.senders.values() {
            visit(sender.shown());
        }
        if self.unknown.packets > 0 {
            visit(self.unknown.clone());
        }
    }
}

impl Sender {
    fn take(&mut self, arrived: Time, payload: &[u8]) {
        self.flow.packets += 1;
        self.flow.bytes += payload.len() as u64;
        self.flow.ended = arrived;
        let Some(probe) = Probe::from_bytes(payload) else {
            return;
        };
        let delay = arrived - probe.departure;
        if self.numbers.is_some() {
            // RFC 3550: J = J + (|D| - J) / 16.
            let difference = self.before.abs_diff(delay.as_ps());
            self.jitter = self.jitter - self.jitter / 16 + difference;
        }
        self.before = delay.as_ps();
        self.flow.delay.add(delay);
        let number = u64::from(probe.sequence);
        let (first, last) = self.numbers.unwrap_or((number, number));
        self.numbers = Some((first.min(number), last.max(number)));
    }

    fn shown(&self) -> Flow {
        let mut flow = self.flow.clone();
        if let Some((first, last)) = self.numbers {
            // What came twice makes up for what did not, as in iperf.
            flow.lost = (last - first + 1).saturating_sub(flow.delay.count);
            flow.jitter = Some(Time::from_ps(self.jitter / 16));
        }
        flow
    }
}
