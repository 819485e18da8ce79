//! The client.

use super::PORT;
use super::message::{self, A, AAAA};
use crate::address::Peer;
use crate::net::{Context, Net};
use crate::program::{Binding, Program};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::SocketAddr;
use measure::distribution::{Distribution, Sampler};
use node::random::Random;
use node::{Flow, Time, When};

/// Maximum number of pending queries. When there are more, the oldest one is lost.
const MAX_PENDING_QUERIES: usize = 4096;
/// Minimum interval between two queries.
const MIN_QUERY_INTERVAL: Time = Time::from_us(1);

/// Configuration of a client.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// The server; port 53 by default.
    pub to: Peer,
    /// Names to query, in turn.
    pub names: Vec<String>,
    /// Whether for addresses of IPv6.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ipv6: bool,
    /// When the first question leaves.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// Between two questions.
    #[cfg_attr(feature = "serde", serde(default = "one_second"))]
    pub every: Distribution,
    /// How many; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub count: Option<u64>,
    /// After how long a question is asked once more, or lost.
    #[cfg_attr(feature = "serde", serde(default = "five_seconds"))]
    pub timeout: Time,
}

#[cfg(feature = "serde")]
fn one_second() -> Distribution {
    Distribution::Constant(Time::from_secs(1))
}

#[cfg(feature = "serde")]
fn five_seconds() -> Time {
    Time::from_secs(5)
}

pub(crate) struct Client {
    config: Config,
    port: u16,
    to: SocketAddr,
    every: Sampler<Time>,
    random: Random,
    asks: Option<Time>,
    asked: u64,
    waiting: BTreeMap<u16, Waiting>,
    question: Vec<u8>,
    flow: Flow,
}

/// A question under way.
struct Waiting {
    name: usize,
    since: Time,
    again: Time,
    tries: u32,
}

impl Client {
    pub fn new(config: Config, port: u16, seed: u64) -> Client {
        let to = config.to.with(PORT);
        let asks = config.count != Some(0) && !config.names.is_empty();
        Client {
            port,
            to,
            every: Sampler::new(&config.every, seed),
            random: Random::new(seed ^ 1),
            asks: asks.then_some(config.start),
            asked: 0,
            waiting: BTreeMap::new(),
            question: Vec::new(),
            flow: Flow {
                program: "dns",
                to: to.to_string(),
                begun: config.start,
                ended: config.start,
                ..Flow::default()
            },
            config,
        }
    }

    fn send(&mut self, id: u16, name: usize, context: &mut Context<'_>) {
        self.question.clear();
        let kind = if self.config.ipv6 { AAAA } else { A };
        if message::ask(id, &self.config.names[name], kind, &mut self.question) {
            let question = &self.question;
            context.datagram(self.port, self.to, When::Now, question.len(), |payload| {
                payload.copy_from_slice(question);
            });
        }
    }
}

impl Program for Client {
    fn bindings(&self) -> Vec<Binding> {
        [Binding::Udp(self.port)].into()
    }

    fn next(&self) -> Option<Time> {
        let again = self.waiting.values().map(|waiting| waiting.again).min();
        [self.asks, again].into_iter().flatten().min()
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        let late = |(id, waiting): (&u16, &Waiting)| (waiting.again <= now).then_some(*id);
        let late: Vec<u16> = self.waiting.iter().filter_map(late).collect();
        for id in late {
            let waiting = self.waiting.get_mut(&id).expect("just found");
            waiting.tries += 1;
            waiting.again = now + self.config.timeout.max(MIN_QUERY_INTERVAL);
            let (name, tries) = (waiting.name, waiting.tries);
            if tries > 2 {
                self.waiting.remove(&id);
                self.flow.lost += 1;
            } else {
                self.send(id, name, context);
            }
        }
        if self.asks.is_none_or(|asks| asks > now) {
            return;
        }
        if self.flow.from.is_empty()
            && let Some(own) = context.source(self.to.ip())
        {
            self.flow.from = SocketAddr::new(own, self.port).to_string();
        }
        let name = (self.asked % self.config.names.len() as u64) as usize;
        if self.waiting.len() >= MAX_PENDING_QUERIES {
            self.waiting.pop_first();
            self.flow.lost += 1;
        }
        let id = loop {
            let id = self.random.bits() as u16;
            if !self.waiting.contains_key(&id) {
                break id;
            }
        };
        let waiting = Waiting {
            name,
            since: now,
            again: now + self.config.timeout.max(MIN_QUERY_INTERVAL),
            tries: 1,
        };
        self.waiting.insert(id, waiting);
        self.send(id, name, context);
        self.asked += 1;
        self.flow.packets += 1;
        self.flow.ended = now;
        let more = self.config.count.is_none_or(|count| self.asked < count);
        self.asks = more.then(|| now + self.every.draw().max(MIN_QUERY_INTERVAL));
        self.flow.done = !more;
    }

    fn datagram(
        &mut self,
        arrived: Time,
        from: SocketAddr,
        _: u16,
        payload: &[u8],
        _: &mut Context<'_>,
    ) {
        let Some(answer) = message::read(payload).filter(|answer| answer.response) else {
            return;
        };
        let Some(waiting) = self.waiting.get(&answer.id) else {
            return;
        };
        let name = self.config.names[waiting.name].trim_end_matches('.');
        if from != self.to || !answer.name.eq_ignore_ascii_case(name) {
            return;
        }
        self.flow.round_trip.add(arrived - waiting.since);
        self.flow.bytes += payload.len() as u64;
        self.flow.ended = self.flow.ended.max(arrived);
        self.waiting.remove(&answer.id);
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
