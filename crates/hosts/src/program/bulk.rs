//! TCP as fast as it goes: one flow forever, or many, in the way of the tool pttcp.
//!
//! `to`, port 5001; `start`, 0; `duration`, none: when it begins nothing new and ends what there is; `flows`, 1: at most so many at once; `bytes`, none:
//! of each flow, a distribution, `table(...)` among them; without it a flow lasts as long as the program; `count`, none: flows
//! altogether; `every`, none: between the beginnings of flows, a distribution of times; without it a flow begins
//! when one has ended, `pause` (0) later; `buffer`, 6 MiB in each direction; `congestion`, `cubic`, `reno`, `dctcp`, `bbr` or `none`; `ecn`, `passive`, see
//! [`Ecn`]; `initial_window`, 10 segments; `min_rto`, 200 ms; `pacing`, false.
//!
//! A flow whose connection cannot be opened, is refused, is reset, or has no answer for a minute has that as its error. As with iperf3 it is
//! the end of the program: no flow begins after it, and those that are open go on. With `every` the later ones begin at their
//! times all the same.

use super::records::Records;
use super::{Congestion, Context, Ecn, GIVE_UP, INITIAL_WINDOW, MIN_RTO, Net, Program};
use crate::address::Peer;
use crate::connections::{Id, SocketOptions};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use measure::distribution::{Distribution, Sampler};
use node::{Flow, Time};

/// The usual port.
pub const PORT: u16 = 5001;

/// What a source of flows is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// Who takes it; port 5001 unless it says otherwise.
    pub to: Peer,
    /// When the first flow begins.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// After how long nothing new is begun, and nothing more is written; `None`: never.
    #[cfg_attr(feature = "serde", serde(default))]
    pub duration: Option<Time>,
    /// How many at once; with `every`, none beyond these begins.
    #[cfg_attr(feature = "serde", serde(default))]
    pub flows: Option<u32>,
    /// Bytes of each; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub bytes: Option<Distribution<u64>>,
    /// How many altogether; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub count: Option<u64>,
    /// Between the beginnings of two.
    #[cfg_attr(feature = "serde", serde(default))]
    pub every: Option<Distribution>,
    /// Between the end of one and the beginning of the next, without `every`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pause: Option<Distribution>,
    /// Bytes of a connection's buffer in each direction.
    #[cfg_attr(feature = "serde", serde(default = "usual_buffer"))]
    pub buffer: usize,
    /// Congestion control.
    #[cfg_attr(feature = "serde", serde(default))]
    pub congestion: Congestion,
    /// Explicit congestion notification.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ecn: Ecn,
    /// Segments of the initial window, 1 to 10,000.
    #[cfg_attr(feature = "serde", serde(default = "usual_window"))]
    pub initial_window: u32,
    /// Minimum retransmission time-out, see [`SocketOptions::min_rto`]: 1 us to 60 s.
    #[cfg_attr(feature = "serde", serde(default = "usual_rto"))]
    pub min_rto: Time,
    /// Whether segments leave one by one, at a rate by window and round trip.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pacing: bool,
}

impl Config {
    /// One endless flow to `to`.
    pub fn new(to: Peer) -> Config {
        Config {
            to,
            start: Time::ZERO,
            duration: None,
            flows: None,
            bytes: None,
            count: None,
            every: None,
            pause: None,
            buffer: super::BUFFER,
            congestion: Congestion::Cubic,
            ecn: Ecn::Passive,
            initial_window: INITIAL_WINDOW,
            min_rto: MIN_RTO,
            pacing: false,
        }
    }
}

#[cfg(feature = "serde")]
fn usual_buffer() -> usize {
    super::BUFFER
}

#[cfg(feature = "serde")]
fn usual_window() -> u32 {
    INITIAL_WINDOW
}

#[cfg(feature = "serde")]
fn usual_rto() -> Time {
    MIN_RTO
}

/// Minimum interval between two flows. It prevents endless attempts at one simulated time when the
/// server cannot be reached.
const MIN_FLOW_INTERVAL: Time = Time::from_us(1);

pub(crate) struct Bulk {
    config: Config,
    sizes: Option<Sampler<u64>>,
    times: Option<Sampler<Time>>,
    /// When the next flow begins, or several.
    begins: Option<Time>,
    /// Flows that begin then.
    pending: u32,
    stops: Option<Time>,
    begun: u64,
    skipped: u64,
    open: BTreeMap<Id, Sending>,
    over: Records,
}

/// A flow under way.
struct Sending {
    /// Whether the connection came about.
    opened: bool,
    /// Bytes still to be written; `None`: no end.
    left: Option<u64>,
    written: u64,
    closed: bool,
    flow: Flow,
}

impl Bulk {
    pub fn new(mut config: Config, seed: u64) -> Bulk {
        config.buffer = config
            .buffer
            .clamp(*super::BUFFERS.start(), *super::BUFFERS.end());
        let spacing = config.every.as_ref().or(config.pause.as_ref());
        let pending = match config.every {
            Some(_) => 1,
            None => config.flows.unwrap_or(1),
        };
        Bulk {
            sizes: config.bytes.as_ref().map(|bytes| Sampler::new(bytes, seed)),
            times: spacing.map(|times| Sampler::new(times, seed ^ 1)),
            begins: (config.count != Some(0) && pending > 0).then_some(config.start),
            pending,
            stops: config.duration.map(|duration| config.start + duration),
            begun: 0,
            skipped: 0,
            open: BTreeMap::new(),
            over: Records::default(),
            config,
        }
    }

    fn may_begin(&self, now: Time) -> bool {
        self.config.count.is_none_or(|count| self.begun < count)
            && self.stops.is_none_or(|stops| now < stops)
    }

    fn begin(&mut self, context: &mut Context<'_>) {
        self.begun += 1;
        let to = self.config.to.with(PORT);
        let left = self.sizes.as_mut().map(Sampler::draw);
        let options = SocketOptions {
            buffer: self.config.buffer,
            congestion: self.config.congestion,
            timeout: Some(GIVE_UP),
            ecn: self.config.ecn,
            initial_window: self.config.initial_window,
            min_rto: self.config.min_rto,
            pacing: self.config.pacing,
        };
        let mut flow = Flow {
            program: "bulk",
            to: to.to_string(),
            begun: context.now,
            ended: context.now,
            ..Flow::default()
        };
        match context.connect(to, options) {
            Some(id) => {
                flow.from = context
                    .ends(id)
                    .map(|(own, _)| own.to_string())
                    .unwrap_or_default();
                let sending = Sending {
                    opened: false,
                    left,
                    written: 0,
                    closed: false,
                    flow,
                };
                self.open.insert(id, sending);
            }
            None => {
                flow.error = Some(match context.source(to.ip()) {
                    Some(_) => "too many connections",
                    None => "no route",
                });
                self.fail(flow);
            }
        }
    }

    /// One has come to no proper end: nothing new begins, unless something else says when.
    fn fail(&mut self, flow: Flow) {
        self.over.add(flow);
        if self.config.every.is_none() {
            self.begins = None;
            self.pending = 0;
            self.config.count = Some(self.begun);
        }
    }

    /// One has ended, or could not begin: the next may, where nothing else says when.
    fn again(&mut self, now: Time) {
        if self.config.every.is_some() || !self.may_begin(now) {
            return;
        }
        let pause = self.times.as_mut().map_or(Time::ZERO, Sampler::draw);
        let at = now + pause.max(MIN_FLOW_INTERVAL);
        // Of several that are to begin, the last says when: they keep apart all the same.
        self.begins = Some(self.begins.map_or(at, |begins| begins.max(at)));
        self.pending += 1;
    }
}

impl Sending {
    /// Why a flow that is over came to no proper end.
    fn error(&self, now: Time) -> Option<&'static str> {
        let silent = now - self.flow.ended >= GIVE_UP;
        match (self.flow.done, silent, self.opened) {
            (true, ..) => None,
            (false, true, _) => Some("no answer"),
            (false, false, true) => Some("connection reset"),
            (false, false, false) => Some("connection refused"),
        }
    }

    fn write(&mut self, id: Id, context: &mut Context<'_>) {
        let now = context.now;
        let mut room = context.room(id, self.left.unwrap_or(u64::MAX)) as u64;
        let Some(socket) = context.socket(id) else {
            return;
        };
        self.opened |= socket.may_send();
        // What the other side says is not listened to.
        while socket.can_recv() {
            let _ = socket.recv(|bytes| (bytes.len(), ()));
        }
        while socket.can_send() && self.left != Some(0) && room > 0 {
            let most = self.left.unwrap_or(u64::MAX).min(room);
            let Ok(sent) = socket.send_zeros(most as usize) else {
                break;
            };
            let sent = sent as u64;
            self.written += sent;
            room -= sent;
            self.left = self.left.map(|left| left - sent);
        }
        if self.left == Some(0) && !self.closed && socket.may_send() {
            self.closed = true;
            socket.close();
        }
        let bytes = self.written - socket.send_queue() as u64;
        if bytes > self.flow.bytes {
            self.flow.bytes = bytes;
            self.flow.ended = now;
        }
        self.flow.done = self.left == Some(0) && bytes == self.written;
    }
}

impl Program for Bulk {
    fn next(&self) -> Option<Time> {
        let stops = self
            .stops
            .filter(|_| !self.open.is_empty() || self.begins.is_some());
        [self.begins, stops].into_iter().flatten().min()
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        if self.stops.is_some_and(|stops| stops <= context.now) {
            self.stops = None;
            self.begins = None;
            self.config.count = Some(self.begun);
            let ids = self.open.keys().copied();
            for id in ids.collect::<alloc::vec::Vec<_>>() {
                let sending = self.open.get_mut(&id).expect("just listed");
                sending.left = Some(0);
                sending.write(id, context);
                context.drive(id);
            }
        }
        if self.begins.is_none_or(|begins| begins > context.now) {
            return;
        }
        self.begins = None;
        for _ in 0..core::mem::take(&mut self.pending) {
            if !self.may_begin(context.now) {
                break;
            }
            let most = self.config.flows.map_or(usize::MAX, |flows| flows as usize);
            match self.open.len() < most {
                true => self.begin(context),
                false => self.skipped += 1,
            }
        }
        if self.config.every.is_some() && self.may_begin(context.now) {
            let times = self.times.as_mut().map_or(Time::ZERO, Sampler::draw);
            self.begins = Some(context.now + times.max(MIN_FLOW_INTERVAL));
            self.pending = 1;
        }
    }

    fn ready(&mut self, id: Id, _: bool, context: &mut Context<'_>) {
        if let Some(sending) = self.open.get_mut(&id) {
            sending.write(id, context);
        }
    }

    fn over(&mut self, id: Id, context: &mut Context<'_>) {
        if let Some(mut sending) = self.open.remove(&id) {
            if let Some(sender) = context.sender(id) {
                sender.report(&mut sending.flow);
            }
            sending.flow.error = sending.error(context.now);
            match sending.flow.error {
                Some(_) => self.fail(sending.flow),
                None => {
                    self.over.add(sending.flow);
                    self.again(context.now);
                }
            }
        }
    }

    fn flows(&self, net: &Net, visit: &mut dyn FnMut(Flow)) {
        self.over.show(visit);
        for (id, sending) in &self.open {
            let mut flow = sending.flow.clone();
            if let Some(sender) = net.connections.sender(*id) {
                sender.report(&mut flow);
            }
            visit(flow);
        }
    }
}
