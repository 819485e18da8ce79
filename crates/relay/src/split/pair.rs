//! One connection that was split: two ends, and what goes between them.

use crate::backlog::Backlog;
use alloc::string::ToString;
use core::net::{IpAddr, SocketAddr};
use hosts::endpoint::{Egress, Endpoint, SocketOptions, Stack, timestamp};
use node::{Flow, Frame, Out, Port, Time, When};
use packet::flow::FiveTuple;

/// Between the end that opened a connection, the near one, and the far one.
pub(super) struct Pair {
    /// The port at which the near end is.
    pub near: Port,
    /// Of what it sends.
    pub tuple: FiveTuple,
    /// When to look at it again.
    pub due: Time,
    /// When something came last.
    pub heard: Time,
    begun: Time,
    /// Its first segment, as long as the far end has not answered; the addresses on the link are its too.
    first: Frame,
    /// The end that speaks to the near one, with the far one's address; `None` as long as it has not been answered.
    to_near: Option<Half>,
    to_far: Half,
    state: State,
    passed: [usize; 2],
}

/// One of its ends.
struct Half {
    end: Endpoint,
    opened: bool,
    /// Whether all from the other side has been given to it.
    finished: bool,
    /// Whether all of its far end has been taken.
    heard_all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// The far end has not taken it.
    Refused,
    /// One of the ends has gone.
    Reset,
}

/// Towards one side: by a port, with addresses on the link.
struct Link<'a> {
    port: Port,
    stations: [u8; 12],
    backlog: &'a mut Backlog,
}

impl Egress for Link<'_> {
    fn send(&mut self, now: Time, _: IpAddr, when: When, mut frame: Frame, out: &mut Out) {
        frame[..12].copy_from_slice(&self.stations);
        self.backlog.send(now, frame.len());
        match when {
            When::Now => out.send(self.port, frame),
            When::At(at) => out.send_at(self.port, at, frame),
        }
    }
}

impl Half {
    fn new(end: Endpoint) -> Half {
        Half {
            end,
            opened: false,
            finished: false,
            heard_all: false,
        }
    }

    /// Takes note of what has become of it; `true` when it has gone without having said all.
    fn look(&mut self) -> bool {
        self.opened |= self.end.is_open();
        self.heard_all |= self.opened && self.end.has_heard_all();
        self.end.is_closed() && !(self.finished && self.heard_all)
    }

    /// Gives the other one what it has, and its end; tells how many bytes.
    fn pass_to(&mut self, other: &mut Half) -> usize {
        let mut passed = 0;
        while let bytes @ 1.. = self.end.pass_to(&mut other.end) {
            passed += bytes;
        }
        self.heard_all |= self.opened && self.end.has_heard_all();
        if self.heard_all && !other.finished && other.opened {
            other.end.close();
            other.finished = true;
        }
        passed
    }
}

impl Pair {
    /// For the first segment of the near end, which came by this port.
    pub fn begin(
        stack: &mut Stack,
        now: Time,
        near: Port,
        tuple: FiveTuple,
        frame: &Frame,
        options: SocketOptions,
    ) -> Option<Pair> {
        let source = SocketAddr::new(tuple.source, tuple.source_port);
        let destination = SocketAddr::new(tuple.destination, tuple.destination_port);
        let mut end = Endpoint::opening(stack, source, destination, options)?;
        // The far end sees the near one's clock go on, or none.
        if let Some(shows) = timestamp(frame) {
            end.offer_timestamps(now, shows);
        }
        Some(Pair {
            near,
            tuple,
            due: Time::MAX,
            heard: now,
            begun: now,
            first: frame.clone(),
            to_near: None,
            to_far: Half::new(end),
            state: State::Good,
            passed: [0; 2],
        })
    }

    fn far(&self) -> Port {
        Port(1 - self.near.0)
    }

    /// Addresses on the link towards one side: as of the first segment, or turned round.
    fn stations(&self, to_near: bool) -> [u8; 12] {
        let mut stations = [0; 12];
        stations.copy_from_slice(&self.first[..12]);
        if to_near {
            stations.rotate_left(6);
        }
        stations
    }

    /// A segment of one of the ends.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn segment(
        &mut self,
        stack: &mut Stack,
        now: Time,
        from_near: bool,
        frame: &Frame,
        backlogs: &mut [Backlog; 2],
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let port = if from_near { self.near } else { self.far() };
        let mut link = Link {
            port,
            stations: self.stations(from_near),
            backlog: &mut backlogs[port.index()],
        };
        let half = match (from_near, &mut self.to_near) {
            (true, None) => return Err("waits for the far end"),
            (true, Some(half)) => half,
            (false, _) => &mut self.to_far,
        };
        half.end.segment(stack, now, frame, &mut link, out)
    }

    /// Passes on what there is, sends, and tells how many bytes went from the near end to the far one, and back.
    pub fn drive(
        &mut self,
        stack: &mut Stack,
        now: Time,
        options: SocketOptions,
        backlogs: &mut [Backlog; 2],
        out: &mut Out,
    ) -> [usize; 2] {
        let gone = self.to_far.look();
        if self.to_near.is_none() && (self.to_far.opened || self.to_far.end.is_closed()) {
            self.answer(stack, now, options, backlogs, out);
        }
        let mut passed = [0; 2];
        let mut near_gone = false;
        if let Some(to_near) = &mut self.to_near {
            near_gone = to_near.look();
            passed = [
                to_near.pass_to(&mut self.to_far),
                self.to_far.pass_to(to_near),
            ];
        }
        if (gone || near_gone) && self.state == State::Good {
            self.state = match self.to_far.opened {
                true => State::Reset,
                false => State::Refused,
            };
            self.abort_ends();
        }
        for (sum, bytes) in self.passed.iter_mut().zip(passed) {
            *sum += bytes;
        }
        let (near, far) = (self.near, self.far());
        let mut link = Link {
            port: far,
            stations: self.stations(false),
            backlog: &mut backlogs[far.index()],
        };
        self.due = self.to_far.end.drive(now, &mut link, out);
        let mut link = Link {
            port: near,
            stations: self.stations(true),
            backlog: &mut backlogs[near.index()],
        };
        if let Some(to_near) = &mut self.to_near {
            let due = to_near.end.drive(now, &mut link, out);
            self.due = self.due.min(due);
        }
        passed
    }

    /// A router says that a segment to the far end, or to the near one, was too long; `false` when none such is under way.
    pub fn too_big(&mut self, to_far: bool, sequence: u32, mtu: usize) -> bool {
        let far = match to_far {
            true => self.tuple.destination,
            false => self.tuple.source,
        };
        let half = match to_far {
            true => Some(&mut self.to_far),
            false => self.to_near.as_mut(),
        };
        half.is_some_and(|half| half.end.too_big(sequence, mtu, far))
    }

    /// The number of the near end's first segment, as long as that has no answer.
    pub fn unanswered(&self) -> Option<u32> {
        let packet = crate::encapsulation::locate(&self.first).ok()?;
        let number = packet.bytes(&self.first).get(4..8)?;
        let number = u32::from_be_bytes(number.try_into().ok()?);
        self.to_near.is_none().then_some(number)
    }

    /// The far end has taken the connection, or refused it: the near one is told by its first segment's being taken.
    fn answer(
        &mut self,
        stack: &mut Stack,
        now: Time,
        options: SocketOptions,
        backlogs: &mut [Backlog; 2],
        out: &mut Out,
    ) {
        let own = SocketAddr::new(self.tuple.destination, self.tuple.destination_port);
        let mut half = Half::new(Endpoint::waiting(stack, own, options));
        if let Some(shows) = timestamp(&self.first) {
            // Any clock will do, and this one tells nobody how long the node has been there.
            half.end.offer_timestamps(now, shows);
        }
        let mut link = Link {
            port: self.near,
            stations: self.stations(true),
            backlog: &mut backlogs[self.near.index()],
        };
        // Whether it is whole was not asked before; if not, the connection is given up after a while.
        let _ = half.end.segment(stack, now, &self.first, &mut link, out);
        self.to_near = Some(half);
    }

    /// Gives both ends up.
    pub fn abort(&mut self) {
        if self.state == State::Good {
            self.state = State::Reset;
        }
        self.abort_ends();
    }

    fn abort_ends(&mut self) {
        self.to_far.end.abort();
        if let Some(to_near) = &mut self.to_near {
            to_near.end.abort();
        }
    }

    /// Whether there is nothing left of it.
    pub fn is_over(&self) -> bool {
        let near = self.to_near.as_ref();
        let near = near.map_or(self.state != State::Good, |half| half.end.is_closed());
        near && self.to_far.end.is_closed()
    }

    /// Whether only the time is left for which closed ports are to rest.
    pub fn is_resting(&self) -> bool {
        let near = self.to_near.as_ref().is_some_and(|half| half.end.is_over());
        near && self.to_far.end.is_over()
    }

    /// Whether the far end did not take it.
    pub fn is_refused(&self) -> bool {
        self.state == State::Refused
    }

    /// Whether it was ended before its time.
    pub fn is_reset(&self) -> bool {
        self.state == State::Reset
    }

    /// Shows what each half has sent.
    pub fn flows(&self, visit: &mut dyn FnMut(Flow)) {
        let near = SocketAddr::new(self.tuple.source, self.tuple.source_port).to_string();
        let far = SocketAddr::new(self.tuple.destination, self.tuple.destination_port).to_string();
        let mut show = |half: &Half, from: &str, to: &str, bytes: usize| {
            let mut flow = Flow {
                program: "split",
                from: from.into(),
                to: to.into(),
                begun: self.begun,
                ended: self.heard,
                bytes: bytes as u64,
                done: half.end.is_over(),
                ..Flow::default()
            };
            half.end.report(&mut flow);
            visit(flow);
        };
        show(&self.to_far, &near, &far, self.passed[0]);
        if let Some(to_near) = &self.to_near {
            show(to_near, &far, &near, self.passed[1]);
        }
    }
}
