//! What a generator is made from.

use super::{Pattern, Payload, Sizes};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use node::{Rate, Time};
use packet::ethernet::Mac;

/// What a generator is made from; see the [generator](super)'s description.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// When the first bit of the first frame leaves. A preamble must fit before it.
    pub start: Time,
    /// From first bit to first bit; not zero.
    pub gap: Option<Time>,
    /// Bits a second on the wire, with preamble, FCS and inter-frame gap.
    pub rate: Option<Rate>,
    /// Frames a second, 1 or more.
    pub packets_per_second: Option<u64>,
    /// Idle characters between the end of a frame's FCS and the next preamble, on a line of the rate
    /// `line`. The standard's least is 12; fewer are for links whose `gap` allows it.
    pub idles: Option<u32>,
    /// The rate of the line on which characters are counted: a character is 8 of its bits.
    pub line: Rate,
    /// How departures are spread around the pace.
    pub pattern: Pattern,
    /// What is drawn by lot comes from this.
    pub seed: u64,
    /// How many frames; `None`: no end.
    pub count: Option<u64>,
    /// How long after `start` frames leave; `None`: no end.
    pub duration: Option<Time>,
    /// Bytes of a frame, with FCS.
    pub size: Sizes,
    /// Source MAC address.
    pub source: Mac,
    /// Destination MAC address.
    pub destination: Mac,
    /// Source IP address.
    pub ip_source: IpAddr,
    /// Destination IP address, of the same version.
    pub ip_destination: IpAddr,
    /// UDP source port, the first of `flows`.
    pub udp_source: u16,
    pub udp_destination: u16,
    /// How many UDP source ports are used in turn, at least 1.
    pub flows: u16,
    /// IPv4 time to live, IPv6 hop limit.
    pub ttl: u8,
    /// VLAN of an 802.1Q tag, 1 to 4094; `None`: no tag.
    pub vlan: Option<u16>,
    /// Priority in the tag, 0 to 7.
    pub priority: u8,
    /// The stream that probes name.
    pub stream: u16,
    /// Whether frames carry a probe.
    pub probe: bool,
    /// What fills made frames up.
    pub payload: Payload,
    /// One frame to be sent as it is, 14 to 262,144 bytes without FCS, instead of a made one.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::hex::read"))]
    pub frame: Option<Vec<u8>>,
    /// How many times as fast as they were taken frames are replayed, to 6 decimals.
    pub speed: f64,
    /// How often a source is replayed; 0 for ever.
    pub loops: u64,
    /// From the last departure of a loop to the first of the next; at least 1 ns.
    pub pause: Time,
    /// How far ahead of their departure frames are given to the world.
    pub ahead: Time,
    /// How many frames are given to the world ahead of their departure, at least 2.
    pub ahead_frames: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            start: Time::from_us(1),
            gap: None,
            rate: None,
            packets_per_second: None,
            idles: None,
            line: Rate::TEN_GIGABIT,
            pattern: Pattern::Even,
            seed: 0,
            count: None,
            duration: None,
            size: Sizes::Least,
            source: Mac([2, 0, 0, 0, 0, 1]),
            destination: Mac([2, 0, 0, 0, 0, 2]),
            // The range that RFC 2544 sets aside for measuring.
            ip_source: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
            ip_destination: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)),
            udp_source: 49_152,
            // Discard: a host that has such a service stays silent.
            udp_destination: 9,
            flows: 1,
            ttl: 64,
            vlan: None,
            priority: 0,
            stream: 0,
            probe: true,
            payload: Payload::Zeros,
            frame: None,
            speed: 1.0,
            loops: 1,
            pause: Time::from_us(1),
            ahead: Time::from_us(100),
            ahead_frames: 64,
        }
    }
}
