//! Asks a host whether it is there: ICMP echo.
//!
//! `to`; `count`, none: without end; `interval`, 1 s; `size`, 56: bytes behind the ICMP header; `start`, 0;
//! `timeout`, 1 s: what is not answered by then is lost. A question that is longer than the MTU leaves in fragments; its answer has arrived with the
//! last of them.

use super::{Context, Net, Program};
use crate::address::Peer;
use crate::thinned::Thinned;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use core::net::IpAddr;
use node::{Flow, Time};

/// Questions that an answer is still waited for.
const WINDOW: usize = 32_768;

/// What a pinger is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// Who is asked.
    pub to: Peer,
    /// How many times; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub count: Option<u64>,
    /// Between two questions; at least 1 us.
    #[cfg_attr(feature = "serde", serde(default = "one_second"))]
    pub interval: Time,
    /// Bytes behind the ICMP header.
    #[cfg_attr(feature = "serde", serde(default = "usual_size"))]
    pub size: usize,
    /// When the first leaves.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// What is not answered by then is lost.
    #[cfg_attr(feature = "serde", serde(default = "one_second"))]
    pub timeout: Time,
}

#[cfg(feature = "serde")]
fn one_second() -> Time {
    Time::from_secs(1)
}

#[cfg(feature = "serde")]
fn usual_size() -> usize {
    56
}

pub(crate) struct Ping {
    config: Config,
    asked: u64,
    next: Option<Time>,
    /// When each question left that is not answered: the oldest first.
    waiting: VecDeque<Option<Time>>,
    flow: Flow,
    round_trips: Thinned,
}

impl Ping {
    pub fn new(config: Config) -> Ping {
        let flow = Flow {
            program: "ping",
            to: config.to.address.to_string(),
            begun: config.start,
            ended: config.start,
            ..Flow::default()
        };
        Ping {
            next: (config.count != Some(0)).then_some(config.start),
            asked: 0,
            waiting: VecDeque::new(),
            flow,
            round_trips: Thinned::default(),
            config,
        }
    }
}

impl Program for Ping {
    fn next(&self) -> Option<Time> {
        self.next
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        let (now, to) = (context.now, self.config.to.address);
        if self.flow.from.is_empty()
            && let Some(own) = context.source(to)
        {
            self.flow.from = own.to_string();
        }
        if context.ask(to, self.asked as u16, self.config.size) {
            self.waiting.push_back(Some(now));
            if self.waiting.len() > WINDOW {
                self.waiting.pop_front();
            }
        } else {
            self.waiting.push_back(None);
        }
        self.asked += 1;
        self.flow.packets += 1;
        self.flow.ended = now;
        let more = self.config.count.is_none_or(|count| self.asked < count);
        let interval = self.config.interval.max(Time::from_us(1));
        self.next = more.then(|| now + interval);
        self.flow.done = !more;
    }

    fn echoed(&mut self, arrived: Time, from: IpAddr, sequence: u16, _: &mut Context<'_>) {
        if from != self.config.to.address {
            return;
        }
        // The youngest question with these low bits of its number.
        let back = usize::from((self.asked.wrapping_sub(1) as u16).wrapping_sub(sequence));
        let place = self.waiting.len().checked_sub(back + 1);
        let Some(asked) = place.and_then(|place| self.waiting[place].take()) else {
            return;
        };
        let time = arrived - asked;
        if time <= self.config.timeout {
            self.flow.round_trip.add(time);
            self.round_trips.push(arrived, time);
            self.flow.bytes += self.config.size as u64;
        }
        self.flow.ended = self.flow.ended.max(arrived);
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        let mut flow = self.flow.clone();
        flow.round_trips = self.round_trips.points().to_vec();
        flow.lost = flow.packets - flow.round_trip.count.min(flow.packets);
        visit(flow);
    }
}
