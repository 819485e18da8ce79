//! CAKE: a shaper, priority tins, and fair queues with CoDel and BLUE (Høiland-Jørgensen, Täht and
//! Morton, LANMAN 2018).
//!
//! - **Parameters:** `bandwidth`, none; `diffserv`, `diffserv3`; `isolation`, `triple-isolate`;
//!   `rtt`, 100 ms; `overhead`, 0, and `mpu`, 0 bytes; `memlimit`, four times bandwidth and `rtt`,
//!   at least 4 MiB, and 32 MiB without a bandwidth; `ack_filter`, `off`.
//! - **Reasons:** `overlimit`, `codel`, `blue`, `ack filter`. A decision's `class` is the tin, its
//!   `flow` the queue in it.
//!
//! # Parts that are here
//! - **Shaper:** a virtual clock without bursts. Each packet advances it by its time at
//!   `bandwidth`, exactly; a packet may leave when the clock is not ahead. While packets wait the
//!   clock does not skip time, so that a late call catches up.
//! - **Tins:** `besteffort` has one; `diffserv3` bulk, best effort and voice; `diffserv4` bulk,
//!   best effort, video and voice. Each tin has its own clock at a share of the bandwidth: bulk
//!   1/16, best effort 1, video 1/2, voice 1/4. Of the tins whose clocks are not ahead voice sends
//!   first, then video, bulk and best effort, as in Linux: best effort has the whole bandwidth as
//!   its share, and after it bulk would never have its own. If all clocks are ahead, the least
//!   ahead sends. DSCPs: bulk 1 and 8; voice of three tins 4, 44, 46,
//!   48 and 56; voice of four 32, 40, 44, 46, 48 and 56; video 2, 4, 16 to 30 (even) and 34 to 38
//!   (even). Without a bandwidth there is one tin.
//! - **Flows:** 1024 queues in each tin, deficit round robin with new and old queues as in
//!   [`fq_codel`](crate::fq_codel). The quantum is the tin's rate in bytes a second over 4096, 300
//!   to 1514 bytes. With `dual-srchost`, `dual-dsthost` and `triple-isolate` it is divided by the
//!   number of bulk flows, those in the list of old queues, that the packet's source, its
//!   destination, or the busier of both has in the tin.
//! - **AQM:** CoDel (RFC 8289) in each queue, with ECN, a target of `rtt / 20` and at least one and
//!   a half times 1514 bytes at the tin's rate; and BLUE, whose probability grows by 1/256 with an
//!   overload drop and falls by 1/4096 when the queue is found empty, at most once in a target.
//! - **ACK filter:** a pure ACK has no data, no flags but ACK, ECE and CWR, and no options but time
//!   stamps, SACK and MD5 signatures. It is unnecessary after a later segment of its connection in
//!   its queue that acknowledges more, by number or by SACK blocks that cover its own, and has no
//!   older time stamps. When a segment arrives, `on` drops the oldest of two ACKs that it makes
//!   unnecessary, unless ECE or CWR change between the two. `aggressive` also drops the only one, if
//!   the segment follows it at once with the same ECE and CWR. Each segment drops one ACK at most.
//!   A block for a duplicate (RFC 2883) keeps its ACK. CoDel and BLUE do not count these drops.
//!
//! # Differences
//! Linux (`net/sched/sch_cake.c`) and ns-3's port of COBALT have more: NAT look-up, washing of
//! DSCPs, `ingress` mode, `autorate-ingress`, `split-gso`, `diffserv8` and `precedence`, ATM and
//! PTM framing, and tins by weight without a bandwidth. These are not here. Linux's ACK filter
//! compares addresses and ports, this one their hashes; Linux's also looks into IPv6 in IPv4 and at
//! fragments, and drops ACKs that have an option twice. Linux finds a queue by a set-associative
//! hash of eight ways, in which a flow may change its queue after a collision, so that its packets
//! change places; here the hash is direct. Its COBALT lets the count of drops fall step by step,
//! and exempts queues by the time of an MTU; here CoDel's control is that of
//! [`codel`](crate::codel). The divided quantum is rounded down; in Linux at random.

mod ack_filter;
mod tin;

pub use ack_filter::AckFilter;

use crate::decision::{Backlog, Decisions};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::segment::Segment;
use alloc::vec::Vec;
use node::random::Random;
use node::{ConfigError, Rate, Size, Time};
use tin::{Clock, Tin};

/// How packets are sorted into tins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Diffserv {
    /// One tin.
    BestEffort,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
}

impl Diffserv {
    /// Shares of the bandwidth, as shifts, in the order of the tins' numbers.
    fn shares(self) -> &'static [u32] {
        match self {
            Diffserv::BestEffort => &[0],
            Diffserv::Diffserv3 => &[4, 0, 2],
            Diffserv::Diffserv4 => &[4, 0, 1, 2],
        }
    }

    /// Numbers of the tins, those first that let others pass while these are within their shares.
    fn precedence(self) -> &'static [usize] {
        match self {
            Diffserv::BestEffort => &[0],
            Diffserv::Diffserv3 => &[1, 0, 2],
            Diffserv::Diffserv4 => &[1, 0, 2, 3],
        }
    }

    fn tin_of(self, dscp: u8) -> usize {
        match (self, dscp) {
            (Diffserv::BestEffort, _) => 0,
            (_, 1 | 8) => 0,
            (Diffserv::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (Diffserv::Diffserv3, _) => 1,
            (_, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            (_, 2 | 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            _ => 1,
        }
    }
}

/// Packets that share a queue, and hosts that share a tin fairly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Isolation {
    /// All packets.
    #[cfg_attr(feature = "serde", serde(rename = "flowblind"))]
    FlowBlind,
    /// Packets from a source.
    #[cfg_attr(feature = "serde", serde(rename = "srchost"))]
    SrcHost,
    /// Packets to a destination.
    #[cfg_attr(feature = "serde", serde(rename = "dsthost"))]
    DstHost,
    /// Packets of a pair of hosts.
    Hosts,
    /// Packets of a flow.
    Flows,
    /// Packets of a flow; sources are equal.
    #[cfg_attr(feature = "serde", serde(rename = "dual-srchost"))]
    DualSrcHost,
    /// Packets of a flow; destinations are equal.
    #[cfg_attr(feature = "serde", serde(rename = "dual-dsthost"))]
    DualDstHost,
    /// Packets of a flow; sources and destinations are equal.
    #[default]
    TripleIsolate,
}

/// Parameters of CAKE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// The shaper's rate, of packets with their `overhead`. Default none: no shaper, and one tin.
    pub bandwidth: Option<Rate>,
    /// The tins. Default three.
    pub diffserv: Diffserv,
    /// Flows and hosts. Default flows, with fairness among sources and destinations.
    pub isolation: Isolation,
    /// Usual round trip: CoDel's interval. Default 100 ms.
    pub rtt: Time,
    /// Bytes that the line adds to a packet; negative for a header that it takes off. Default 0.
    pub overhead: i32,
    /// Minimum length on the line, bytes. Default 0.
    pub mpu: u32,
    /// Bytes that may wait. Default four times bandwidth and `rtt`, at least 4 MiB; 32 MiB without
    /// a bandwidth.
    pub memlimit: Option<Size>,
    /// Filter of pure TCP ACKs. Default off.
    pub ack_filter: AckFilter,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            bandwidth: None,
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            rtt: Time::from_ms(100),
            overhead: 0,
            mpu: 0,
            memlimit: None,
            ack_filter: AckFilter::Off,
        }
    }
}

/// CAKE.
#[derive(Debug)]
pub struct Cake {
    config: Config,
    diffserv: Diffserv,
    limit: u64,
    /// The shaper, where there is one.
    clock: Option<Clock>,
    tins: Vec<Tin>,
    random: Random,
    ledger: Ledger,
}

impl Cake {
    /// Empty queues. The seed perturbs the hash, and gives BLUE's random numbers.
    ///
    /// # Errors
    /// For a value out of its range.
    pub fn new(config: Config, seed: u64) -> Result<Cake, ConfigError> {
        if config.rtt < Time::from_ps(20) || config.rtt > Time::from_secs(100_000) {
            let reason = "a round trip is 20 ps to 100000 s";
            return Err(ConfigError::new("rtt", reason));
        }
        let diffserv = match config.bandwidth {
            Some(_) => config.diffserv,
            None => Diffserv::BestEffort,
        };
        let limit = config.memlimit.map(Size::bytes).unwrap_or_else(|| {
            config.bandwidth.map_or(32 << 20, |rate| {
                let bits = u128::from(rate.bits_per_second()) * u128::from(config.rtt.as_ps());
                u64::try_from(bits / 2_000_000_000_000)
                    .unwrap_or(u64::MAX)
                    .max(4 << 20)
            })
        });
        let mut random = Random::new(seed);
        let perturbation = random.bits();
        let share = |shift: &u32| {
            let bits = config.bandwidth?.bits_per_second() >> shift;
            Rate::from_bits_per_second(bits.max(1))
        };
        let tins = diffserv.shares().iter();
        let tins = tins.map(|shift| Tin::new(&config, share(shift), perturbation));
        Ok(Cake {
            diffserv,
            limit,
            clock: config.bandwidth.map(Clock::new),
            tins: tins.collect(),
            random,
            ledger: Ledger::default(),
            config,
        })
    }

    /// Length on the line.
    fn line_len(&self, packet: &Packet) -> u64 {
        let len = i64::from(packet.len) + i64::from(self.config.overhead);
        (len.max(0) as u64).max(self.config.mpu.into())
    }

    /// The tin to send from.
    fn next_tin(&self, now: Time) -> Option<usize> {
        let mut best: Option<(usize, Time)> = None;
        for &index in self.diffserv.precedence() {
            let tin = &self.tins[index];
            if tin.backlog().is_empty() {
                continue;
            }
            let ahead = tin.ahead(now);
            if best.is_none_or(|(_, least)| ahead <= least) {
                best = Some((index, ahead));
            }
        }
        best.map(|(index, _)| index)
    }

    /// Drops the oldest packet of the queue with the greatest backlog.
    #[cold]
    fn drop_from_fattest(&mut self, now: Time, out: &mut Decisions) {
        let fattest = (0..).zip(&self.tins);
        let fattest = fattest.filter_map(|(index, tin)| Some((tin.fattest()?, index)));
        // The first of equals.
        let weight = |&((bytes, flow), tin): &((u64, u32), u32)| (bytes, !tin, !flow);
        if let Some(((_, flow), index)) = fattest.max_by_key(weight) {
            let from = out.len();
            self.tins[index as usize].drop_head(now, flow, &mut self.ledger, out);
            name_class(out, from, index);
        }
    }
}

fn name_class(out: &mut Decisions, from: usize, tin: u32) {
    for decision in &mut out[from..] {
        decision.class = Some(tin);
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Decisions) {
        self.enqueue_segment(now, packet, None, out);
    }

    fn reads_segments(&self) -> bool {
        self.config.ack_filter != AckFilter::Off
    }

    fn enqueue_segment(
        &mut self,
        now: Time,
        mut packet: Packet,
        segment: Option<&Segment>,
        out: &mut Decisions,
    ) {
        if let Some(clock) = self
            .clock
            .as_mut()
            .filter(|_| self.ledger.backlog.is_empty())
        {
            clock.catch_up(now);
        }
        self.ledger.offer(now, &mut packet);
        let tin = self.diffserv.tin_of(packet.facts.dscp);
        let place = self.tins[tin].enqueue(now, packet);
        if self.reads_segments() {
            let from = out.len();
            self.tins[tin].filter(now, place, segment, &mut self.ledger, out);
            name_class(out, from, tin as u32);
        }
        while self.ledger.backlog.bytes > self.limit {
            self.drop_from_fattest(now, out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        if self.clock.as_ref().is_some_and(|clock| clock.next > now) {
            return None;
        }
        loop {
            let index = self.next_tin(now)?;
            let from = out.len();
            let tin = &mut self.tins[index];
            let packet = tin.dequeue(now, &mut self.random, &mut self.ledger, out);
            name_class(out, from, index as u32);
            if let Some(packet) = packet {
                let len = self.line_len(&packet);
                self.tins[index].sent(now, len);
                if let Some(clock) = &mut self.clock {
                    clock.advance(len);
                }
                self.ledger.send(&packet);
                return Some(packet);
            }
        }
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        if self.ledger.backlog.is_empty() {
            return None;
        }
        let clock = self.clock.as_ref();
        Some(clock.map_or(now, |clock| clock.next.max(now)))
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
