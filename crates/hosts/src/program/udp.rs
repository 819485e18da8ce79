//! Datagrams at a constant rate.
//!
//! `to`, port 5001; `rate`, 1 Mb/s of payload; `size`, 1470 bytes of payload; `start`, 0; `duration` and `count`, none: how
//! long and how many; `stream`, 0: by which a meter tells it from others. Each begins with a probe of [`measure::probe`], so that a
//! sink, and a meter anywhere on its way, knows which it is and when it left. It leaves at its time to the picosecond; a rate with no
//! whole spacing does not drift. One that is longer than the MTU leaves in fragments. A datagram for which ICMP's port unreachable comes
//! back is lost; the program goes on. A receiver limits these errors ([`ip::limit`]), so that `lost` is the minimum.

use super::{Context, Net, Program};
use crate::address::Peer;
use alloc::string::ToString;
use core::net::SocketAddr;
use measure::probe::{self, Probe};
use node::{Flow, Rate, Time, When};

/// What a source is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// Who takes it; port 5001 unless it says otherwise.
    pub to: Peer,
    /// Bits of payload a second.
    #[cfg_attr(feature = "serde", serde(default = "usual_rate"))]
    pub rate: Rate,
    /// Bytes of payload of each, at least those of a probe, 18.
    #[cfg_attr(feature = "serde", serde(default = "usual_size"))]
    pub size: usize,
    /// When the first leaves.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// For how long; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub duration: Option<Time>,
    /// How many; `None`: without end.
    #[cfg_attr(feature = "serde", serde(default))]
    pub count: Option<u64>,
    /// By which a meter tells it from others.
    #[cfg_attr(feature = "serde", serde(default))]
    pub stream: u16,
}

#[cfg(feature = "serde")]
fn usual_rate() -> Rate {
    // One million is not zero.
    Rate::from_bits_per_second(1_000_000).unwrap_or(Rate::TEN_GIGABIT)
}

#[cfg(feature = "serde")]
fn usual_size() -> usize {
    1470
}

pub(crate) struct Udp {
    config: Config,
    port: u16,
    to: SocketAddr,
    /// When the next leaves, and the part of a picosecond, in units of 1/rate, that it should later.
    next: Option<(Time, u64)>,
    flow: Flow,
}

impl Udp {
    pub fn new(mut config: Config, port: u16) -> Udp {
        config.size = config.size.max(probe::LEN);
        let to = config.to.with(super::bulk::PORT);
        Udp {
            next: (config.count != Some(0)).then_some((config.start, 0)),
            port,
            to,
            flow: Flow {
                program: "udp",
                to: to.to_string(),
                begun: config.start,
                ended: config.start,
                ..Flow::default()
            },
            config,
        }
    }
}

impl Program for Udp {
    fn next(&self) -> Option<Time> {
        self.next.map(|(at, _)| at)
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        let Some((at, rest)) = self.next.filter(|(at, _)| *at <= context.now) else {
            return;
        };
        let probe = Probe {
            stream: self.config.stream,
            sequence: self.flow.packets as u32,
            departure: at,
        };
        let size = self.config.size;
        let fill = |payload: &mut [u8]| payload[..probe::LEN].copy_from_slice(&probe.to_bytes());
        if self.flow.from.is_empty()
            && let Some(own) = context.source(self.to.ip())
        {
            self.flow.from = SocketAddr::new(own, self.port).to_string();
        }
        if context.datagram(self.port, self.to, When::At(at), size, fill) {
            self.flow.bytes += size as u64;
        } else {
            self.flow.lost += 1;
        }
        self.flow.packets += 1;
        let (spacing, rest) = self.config.rate.time_of(8 * size as u64, rest);
        let next = at + spacing.max(Time::from_ps(1));
        self.flow.ended = next;
        let end = self
            .config
            .duration
            .map(|duration| self.config.start + duration);
        let more = self
            .config
            .count
            .is_none_or(|count| self.flow.packets < count)
            && end.is_none_or(|end| next < end);
        self.next = more.then_some((next, rest));
        self.flow.done = !more;
    }

    fn unreachable(&mut self, port: u16, to: SocketAddr) {
        // Errors about others, or more than there were datagrams, are no news.
        if port == self.port && to == self.to && self.flow.lost < self.flow.packets {
            self.flow.lost += 1;
            let size = self.config.size as u64;
            self.flow.bytes = self.flow.bytes.saturating_sub(size);
            self.flow.error = Some("port unreachable");
        }
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
