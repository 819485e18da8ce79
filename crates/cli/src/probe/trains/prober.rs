//! Who sends trains over the kernel's UDP, each probe at its time, and hears when they came.

use ::capture::clock::now_ns;
use ::capture::signal::stop_requested;
use ::report::text::number;
use anyhow::bail;
use live::datagram::Datagrams;
use live::port::pace::{Idle, Waiter};
use live::scheduling::real_time;
use node::random::Random;
use node::{Histogram, Rate, Time};
use nodes::bandwidth::estimate::{Estimator, Observed, Packet};
use nodes::bandwidth::message::Message;
use nodes::train::{Begins, Rates, Trains, Walk};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

/// A probe that was not told of within this is lost.
const LISTEN: Time = Time::from_secs(1);
/// Accuracy of a kernel's timestamps, ns: a gap must be longer.
const STAMPS_NS: u64 = 5_000;
/// Maximum number of transmissions of a train that leaves unevenly.
const TRIES: u32 = 10;
/// It left evenly if no probe was late by more than half of what is between two calls, or by this part of the train.
const EVEN: u64 = 50;
/// Between two trains: what one left in a queue is gone, and what was told of it is heard.
const REST: Time = Time::from_ms(4);
/// Duration of a send call and of the path through the kernel, ns. Packets of shorter gaps share a
/// call: as many as leave until the next call, evenly spaced on average.
const CALL_NS: u64 = 40_000;
/// Maximum number of packets of one send call.
const MAX_SEND_BATCH: usize = 8;
/// Between two pairs, at the least.
const APART: Time = Time::from_us(20);

/// A train that has left.
struct Train {
    rate: Rate,
    first: u32,
    packets: Vec<Packet>,
}

/// The socket, and the trains that it hears of.
struct Ear {
    socket: Datagrams,
    session: u16,
    trains: Vec<Train>,
    heard: bool,
    failed: Option<Error>,
}

/// Who sends to one server.
pub struct Prober {
    ear: Ear,
    waiter: Waiter,
    start_ns: u64,
    next: u32,
    /// By how many ns probes left late, and the least gap that was asked for.
    late: Histogram,
    least_gap_ns: u64,
    /// Trains that left unevenly and were sent again, and those of which no try was even.
    again: u64,
    uneven: u64,
    sent: u64,
}

/// What a sample has cost: all that was sent, and of what the method was shown how much was lost in how many trains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    pub trains: u64,
}

impl Prober {
    /// To a server, from a socket that is connected to it; the thread gets real-time priority where it may.
    pub fn new(socket: Datagrams) -> Prober {
        Prober {
            ear: Ear {
                socket,
                session: (std::process::id() as u16) ^ (now_ns() >> 10) as u16,
                trains: Vec::new(),
                heard: false,
                failed: None,
            },
            waiter: Waiter::new(real_time()),
            start_ns: now_ns(),
            next: 0,
            late: Histogram::with_precision(5),
            least_gap_ns: u64::MAX,
            again: 0,
            uneven: 0,
            sent: 0,
        }
    }

    /// A socket to a server.
    ///
    /// # Errors
    /// When there is none, or no way there.
    pub fn socket(server: SocketAddr) -> std::io::Result<Datagrams> {
        let any = match server {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0u16; 8], 0)),
        };
        let mut socket = Datagrams::bind(any)?;
        socket.connect(server)?;
        Ok(socket)
    }

    /// Whether anybody told of a probe.
    pub fn heard(&self) -> bool {
        self.ear.heard
    }

    /// Time since it began.
    pub fn now(&self) -> Time {
        Time::from_ns(now_ns() - self.start_ns)
    }

    /// The trains of a sample, which are shown to a method: UDP payloads of so many bytes in IP packets of `size`. `told` is how many trains there were, now and then. Says why there is no
    /// answer where a method cannot go on.
    pub fn sample(
        &mut self,
        estimator: &mut dyn Estimator,
        trains: Trains,
        payload: usize,
        size: usize,
        told: &mut dyn FnMut(u64),
    ) -> anyhow::Result<(Cost, Option<String>)> {
        let (bits, first) = (8 * size as u64, self.next);
        let mut cost = Cost::default();
        let why = self.ask(estimator, trains, payload, bits, &mut cost, told)?;
        // Those that were sent again are paid for, too.
        cost.packets = u64::from(self.next.wrapping_sub(first));
        cost.bytes = cost.packets * size as u64;
        Ok((cost, why))
    }

    fn ask(
        &mut self,
        estimator: &mut dyn Estimator,
        trains: Trains,
        payload: usize,
        bits: u64,
        cost: &mut Cost,
        told: &mut dyn FnMut(u64),
    ) -> anyhow::Result<Option<String>> {
        if trains.rates != Rates::Adaptive {
            self.send(trains, payload, bits, told)?;
            self.listen(LISTEN)?;
            self.see(estimator, cost);
            return Ok(None);
        }
        while let Some(rate) = estimator.next() {
            let rates = Rates::Same { rate, trains: 1 };
            self.send(Trains { rates, ..trains }, payload, bits, &mut |_| {})?;
            if self.ear.trains.is_empty() {
                let why = format!("this machine sent no train of {rate} evenly in {TRIES} tries");
                return Ok(Some(why));
            }
            self.listen(LISTEN)?;
            self.see(estimator, cost);
            told(cost.trains);
            if stop_requested() {
                break;
            }
            // What a train left in the queue is over before the next one.
            self.listen(trains.gap.time(rate, bits, &mut Random::new(0)))?;
        }
        Ok(None)
    }

    /// Sends a sample's trains, each probe at its time; of those that never left evenly nothing is listened to.
    fn send(
        &mut self,
        trains: Trains,
        payload: usize,
        bits: u64,
        told: &mut dyn FnMut(u64),
    ) -> anyhow::Result<()> {
        let Some(mut walk) = Walk::new(trains, u64::from(self.next)) else {
            bail!("there is no first rate");
        };
        let rest = if trains.packets == 2 { APART } else { REST };
        let mut at = self.now() + Time::from_ms(1);
        for sent in 1.. {
            let mut tries = 1;
            let (next, begins) = loop {
                let (mut once, trains_before) = (walk.clone(), self.ear.trains.len());
                let rate = once.rate();
                let (step, is_even) = self.unit(&mut once, trains, at, payload, bits)?;
                if !is_even {
                    self.ear.trains.truncate(trains_before);
                }
                if is_even || tries == TRIES || stop_requested() {
                    self.uneven += u64::from(!is_even);
                    walk = once;
                    break step;
                }
                self.again += 1;
                tries += 1;
                self.listen(REST)?;
                // The next try does not find what this one left in a queue.
                let rest = match trains.packets {
                    ..=2 => APART,
                    _ => trains.gap.time(rate, bits, &mut Random::new(0)),
                };
                at = self.now() + rest;
            };
            self.sent += 1;
            if begins == Begins::Sample || stop_requested() {
                return Ok(());
            }
            told(sent);
            // Of what was late, the next train is not in a hurry.
            at = next.max(self.now() + rest);
        }
        Ok(())
    }

    /// Sends a train, or a chirp of trains of one packet: when what follows is to begin and what it is, and whether it left evenly.
    fn unit(
        &mut self,
        walk: &mut Walk,
        trains: Trains,
        mut at: Time,
        payload: usize,
        bits: u64,
    ) -> anyhow::Result<((Time, Begins), bool)> {
        let gap = walk.rate().time_of(bits, 0).0.as_ns().max(1);
        let together = match trains.packets {
            // The gaps of pairs and chirps are what counts.
            ..=2 => 1,
            _ => (CALL_NS.div_ceil(gap) as usize).min(MAX_SEND_BATCH),
        };
        // By the gap that follows; behind the last packet, by that before it.
        let (mut is_even, mut allowed) = (true, 0);
        let mut begins = Begins::Train;
        let mut bytes = vec![0; together * payload];
        let mut head = Vec::new();
        loop {
            if begins == Begins::Train {
                self.ear.trains.push(Train {
                    rate: walk.rate(),
                    first: self.next,
                    packets: Vec::with_capacity(trains.packets as usize),
                });
            }
            let mut filled = 0;
            let due = self.start_ns + at.as_ns();
            let (next, what) = loop {
                let message = Message {
                    session: self.ear.session,
                    sequence: self.next,
                    came: None,
                };
                head.clear();
                message.build(&mut head);
                bytes[filled..][..head.len()].copy_from_slice(&head);
                filled += payload;
                self.next = self.next.wrapping_add(1);
                let mut count = 0;
                if let Some(train) = self.ear.trains.last_mut() {
                    let (left, came) = (at, None);
                    train.packets.push(Packet { left, came, bits });
                    count = train.packets.len();
                }
                let step = walk.next(at, bits);
                // The last one goes alone, as the first of a call: between like ones delays have grown by the queue, and not by places in a call.
                let is_last = count + 1 == trains.packets as usize;
                if filled == bytes.len() || is_last || step.1 != Begins::Packet {
                    break step;
                }
                at = step.0;
            };
            let left = self.waiter.until(due, &mut self.ear).unwrap_or(due);
            self.ear.said()?;
            // What finds no room is lost, as on the way; that nobody is there is told in the end.
            match self.ear.socket.send(&bytes[..filled], payload, None) {
                Err(error) if error.kind() != ErrorKind::ConnectionRefused => {
                    return Err(error.into());
                }
                _ => {}
            }
            let late = left - due;
            self.late.record(late);
            if let Some(train) = self.ear.trains.last_mut() {
                let packets = train.packets.iter_mut().rev();
                let own = packets.take(filled / payload);
                own.for_each(|packet| packet.left += Time::from_ns(late));
            }
            let goes_on = what == Begins::Packet || trains.packets == 1 && what == Begins::Train;
            if goes_on {
                let gap = (next - at).as_ns();
                self.least_gap_ns = self.least_gap_ns.min(gap);
                allowed = (gap * together as u64 / 2).max(gap * u64::from(trains.packets) / EVEN);
            }
            is_even &= late <= allowed;
            if !goes_on || stop_requested() {
                return Ok(((next, what), is_even));
            }
            (at, begins) = (next, what);
        }
    }

    /// Hears what comes until all was told of, or so long.
    fn listen(&mut self, most: Time) -> anyhow::Result<()> {
        let until = self.now() + most;
        loop {
            self.ear.hear();
            self.ear.said()?;
            let mut packets = self.ear.trains.iter().flat_map(|train| &train.packets);
            let rest = until - self.now();
            let is_whole =
                !self.ear.trains.is_empty() && packets.all(|packet| packet.came.is_some());
            if is_whole || rest == Time::ZERO || stop_requested() {
                return Ok(());
            }
            let wait = Duration::from_nanos(rest.as_ns());
            self.ear.socket.wait(false, wait)?;
        }
    }

    /// Lets the queue drain between samples.
    pub fn pause(&mut self, time: Time) -> anyhow::Result<()> {
        self.ear.trains.clear();
        self.listen(time)
    }

    /// Shows the trains that have left to the method, at the rates at which they did.
    fn see(&mut self, estimator: &mut dyn Estimator, cost: &mut Cost) {
        for train in self.ear.trains.drain(..) {
            let observed = Observed {
                rate: rate_of(&train.packets).unwrap_or(train.rate),
                packets: &train.packets,
            };
            estimator.see(&observed);
            cost.lost += observed.lost() as u64;
            cost.trains += 1;
        }
    }

    /// What the figures may not be worth.
    pub fn warnings(&self) -> Vec<String> {
        let mut told = Vec::new();
        if self.late.total() == 0 {
            return told;
        }
        if self.uneven > 0 {
            let late = self.late.value_at(950, 1_000);
            told.push(format!(
                "pacing is coarse: {} of {} trains left unevenly in each of {TRIES} tries, and say nothing; one call in twenty was {:.0} us late or more, the least gap is {:.0} us",
                number(self.uneven),
                number(self.sent),
                late as f64 / 1e3,
                self.least_gap_ns as f64 / 1e3
            ));
        }
        if self.least_gap_ns < STAMPS_NS {
            told.push(format!(
                "stamps are coarse: those of the kernel are worth some {} us, and gaps of {:.1} us were asked for",
                STAMPS_NS / 1_000,
                self.least_gap_ns as f64 / 1e3
            ));
        }
        if self.ear.socket.lost() > 0 {
            told.push(format!(
                "{} replies reached this machine and found no room: they count as lost",
                number(self.ear.socket.lost())
            ));
        }
        told
    }

    /// Trains that were sent, those sent again, and those that never left evenly.
    pub fn evenness(&self) -> [u64; 3] {
        [self.sent, self.again, self.uneven]
    }
}

/// The rate at which a train has left; of a pair it is the gap that was asked for.
fn rate_of(packets: &[Packet]) -> Option<Rate> {
    let ([first, .., last], true) = (packets, packets.len() > 2) else {
        return None;
    };
    let bits: u64 = packets.iter().skip(1).map(|packet| packet.bits).sum();
    let rate = bits as f64 / (last.left - first.left).as_secs_f64();
    Rate::from_bits_per_second(rate.round() as u64)
}

impl Ear {
    /// Takes what has come.
    fn hear(&mut self) {
        let (session, trains, heard) = (self.session, &mut self.trains, &mut self.heard);
        let received = self.socket.receive(&mut |it| {
            let Some(reply) = Message::parse(it.bytes) else {
                return;
            };
            if reply.session != session || reply.came.is_none() {
                return;
            }
            *heard = true;
            let place = trains.iter_mut().rev().find_map(|train| {
                let at = reply.sequence.wrapping_sub(train.first) as usize;
                train.packets.get_mut(at)
            });
            if let Some(packet) = place {
                packet.came = reply.came;
            }
        });
        match received {
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => self.failed = Some(error),
            _ => {}
        }
    }

    /// What went wrong while it listened.
    fn said(&mut self) -> std::io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Idle for Ear {
    fn sleep(&mut self, time: Duration) -> bool {
        if let Err(error) = self.socket.wait(false, time) {
            self.failed = Some(error);
        }
        self.hear();
        self.failed.is_none() && !stop_requested()
    }
}
