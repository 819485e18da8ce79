//! A node whose ports are hardware.

use crate::line::Speed;
use crate::module::{Missing, NoWaves};
use crate::port::{Leaving, Port as Hardware};
use node::clock::{Clock, PICOSECOND};
use node::event::What;
use node::outcome::{Statistics, Table};
use node::{Event, Frame, Node, Oscillator, Out, Port, Properties, StampId, Time, When};
use packet::word::Departure;
use packet::{Packet, Stamp, record};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

/// Why a node has no such ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BehindError {
    /// There is no Verilog that could run.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There are no waveforms of them.
    #[error(transparent)]
    NoWaves(#[from] NoWaves),
}

/// A node, and ports in Verilog between it and its links: what it sends goes to a port as a record with a timestamp word, and what it
/// receives comes as one. Its time is that of its ports' clock.
pub struct Behind {
    inner: Box<dyn Node>,
    speed: Speed,
    properties: Properties,
    out: Out,
    clock: Clock,
    /// A counter of a port is read through its register bus, which moves it.
    ports: Vec<RefCell<Hardware>>,
    /// What the node wants to be told of each frame that waits in a port.
    asked: Vec<VecDeque<Option<StampId>>>,
    /// How many of the inner node's drops have been handed on, by reason.
    dropped: Vec<u64>,
    /// Records that the ports gave in this call, and frames that left.
    received: Vec<(Port, Vec<u8>)>,
    left: Vec<(Port, Leaving)>,
}

impl Behind {
    /// A node behind ports of this speed whose clock is as `oscillator` says; `waves` names a file for waveforms of its first port, and of which
    /// time they are.
    ///
    /// # Errors
    /// Without Verilator at build time, and when the file cannot be made.
    pub fn new(
        inner: Box<dyn Node>,
        speed: Speed,
        oscillator: &Oscillator,
        waves: Option<(&Path, Range<Time>)>,
    ) -> Result<Behind, BehindError> {
        let properties = Properties {
            // A port sees a frame from its first bit on.
            needs: Some(0),
            changes_frames: true,
            ..inner.properties()
        };
        let ports = (0..properties.ports).map(|_| Hardware::new(speed));
        let mut ports = ports.collect::<Result<Vec<_>, _>>()?;
        if let (Some((file, window)), Some(first)) = (waves, ports.first_mut()) {
            let edge = |time: Time| time.as_ps().div_ceil(speed.tick());
            first.write_waves(file, edge(window.start)..edge(window.end))?;
        }
        Ok(Behind {
            ports: ports.into_iter().map(RefCell::new).collect(),
            asked: vec![VecDeque::new(); properties.ports],
            inner,
            speed,
            properties,
            out: Out::default(),
            clock: Clock::new(oscillator),
            dropped: Vec::new(),
            received: Vec::new(),
            left: Vec::new(),
        })
    }

    /// What the ports' clock shows at a time.
    fn own(&mut self, now: Time) -> Time {
        Time::from_ps((self.clock.own(now.as_ps()) / PICOSECOND) as u64)
    }

    /// The first time at which it shows this.
    fn when(&self, own: Time) -> Time {
        // The window that a clock keeps is a matter of speed alone.
        let mut clock = self.clock.clone();
        Time::from_ps(clock.when(u128::from(own.as_ps()) * PICOSECOND))
    }

    fn tick_time(&self, ticks: u64) -> Time {
        Time::from_ps(ticks.saturating_mul(self.speed.tick()))
    }

    /// Lets the ports' edges come up to now, and hands on what came of it.
    fn catch_up(&mut self, now: Time, out: &mut Out) {
        let own = self.own(now);
        let edges = own.as_ps() / self.speed.tick();
        for (index, port) in self.ports.iter_mut().enumerate() {
            let port_number = Port(index as u16);
            port.get_mut().advance(
                edges,
                |leaving| self.left.push((port_number, leaving)),
                |record| self.received.push((port_number, record.to_vec())),
            );
        }
        for (port, record) in std::mem::take(&mut self.received) {
            self.receive(own, port, &record);
        }
        self.send(now, out);
    }

    /// Gives the node a record.
    fn receive(&mut self, own: Time, port: Port, bytes: &[u8]) {
        let record::Step::Packet { packet, .. } = record::next(bytes, true) else {
            unreachable!("the port gives whole records");
        };
        let mut frame = self.out.frame();
        frame.extend(packet.bytes);
        if let Some(Stamp::Word(ticks)) = packet.stamp {
            frame.set_arrived(self.tick_time(ticks));
        }
        let mut frames = vec![frame];
        self.inner.frames(own, port, &mut frames, &mut self.out);
        for frame in frames {
            self.out.drop(frame, "left over by the node");
        }
    }

    /// Gives the ports what the node sends, and the world what leaves them.
    fn send(&mut self, now: Time, out: &mut Out) {
        let sends: Vec<node::Departure> = self.out.sends().collect();
        for node::Departure { port, when, frame } in sends {
            let Some(hardware) = self.ports.get_mut(port.index()) else {
                self.out.drop(frame, "sent by a port that is not there");
                continue;
            };
            if !(packet::MIN_FRAME_LEN..=record::MAX_SHORT_FRAME_LEN).contains(&frame.len()) {
                self.out
                    .drop(frame, "not of the 14 to 16,000 bytes that a port carries");
                continue;
            }
            let departure = match when {
                When::Now => Departure::Now,
                // Never early: the first tick that is not before it.
                When::At(at) => Departure::At(at.as_ps().div_ceil(self.speed.tick())),
            };
            let packet = Packet {
                stamp: Some(Stamp::Word(departure.to_word())),
                hash: None,
                bytes: &frame,
            };
            let mut bytes = Vec::new();
            record::encode(&packet, &mut bytes).expect("a length that was checked");
            self.asked[port.index()].push_back(frame.stamp());
            hardware.get_mut().send(&bytes);
            self.out.done(frame);
        }
        for (port, leaving) in std::mem::take(&mut self.left) {
            let left = Time::from_ps(leaving.slot.saturating_mul(self.speed.slot()));
            let at = self.when(left).max(now);
            let stamp = self.asked[port.index()].pop_front().flatten();
            let mut frame = out.frame();
            match leaving.bytes.split_last_chunk::<4>() {
                Some((bytes, _)) if phy::crc::is_valid(&leaving.bytes) => {
                    frame.extend(bytes);
                    if let Some(id) = stamp {
                        frame.ask_for_stamp(id);
                    }
                    out.send_at(port, at, frame);
                }
                _ => out.drop(frame, "sent by the port with a wrong FCS"),
            }
        }
        self.out.ended().for_each(drop);
        for (index, (reason, count)) in self.out.drops().iter().enumerate() {
            if self.dropped.len() <= index {
                self.dropped.push(0);
            }
            for _ in self.dropped[index]..*count {
                let nothing = out.frame();
                out.drop(nothing, reason);
            }
            self.dropped[index] = *count;
        }
    }
}

impl Node for Behind {
    fn properties(&self) -> Properties {
        self.properties
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.catch_up(now, out);
        for frame in frames.drain(..) {
            let slot = self.own(frame.arrived()).as_ps() / self.speed.slot();
            let with_fcs = [&frame[..], &phy::crc::fcs(&frame).to_le_bytes()].concat();
            let hardware = self.ports[port.index()].get_mut();
            match hardware.comes(slot, &with_fcs) {
                true => out.done(frame),
                false => out.drop(
                    frame,
                    match self.speed {
                        Speed::Gigabit => {
                            "came while the port received: its link is faster than 1 Gb/s"
                        }
                        Speed::TenGigabit => {
                            "came while the port received: its link is faster than 10 Gb/s"
                        }
                    },
                ),
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.catch_up(now, out);
        let own = self.own(now);
        if self.inner.next_wake().is_some_and(|at| at <= own) {
            self.inner.wake(own, &mut self.out);
            self.send(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let edges = self.ports.iter().filter_map(|port| port.borrow().next());
        let inner = self.inner.next_wake();
        let own = edges.map(|edge| self.tick_time(edge)).chain(inner).min()?;
        Some(self.when(own))
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        self.catch_up(now, out);
        let own = self.own(now);
        let at = match event.what {
            // What the port itself knows, it knows in its own time.
            What::Departed(_) => self.own(event.at),
            _ => own,
        };
        self.inner
            .event(own, &Event { at, ..*event }, &mut self.out);
        self.send(now, out);
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = self.inner.statistics();
        for (index, port) in self.ports.iter().enumerate() {
            let mut port = port.borrow_mut();
            let counters = port.counters();
            for (name, value) in [
                ("sent", counters.sent),
                ("late", counters.late),
                ("bad_records", counters.bad_records),
                ("received", counters.received),
                ("bad", counters.bad),
                ("overflow", counters.overflow),
                ("diverged", port.diverged()),
                ("cycles", port.cycles()),
            ] {
                statistics.counter(&format!("rtl{index}_{name}"), value);
            }
        }
        statistics
    }

    fn tables(&self, now: Time) -> Vec<Table> {
        self.inner.tables(now)
    }
}
