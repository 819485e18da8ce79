//! Identifiers, priority vectors and times (IEEE 802.1D-2004 sections 9.2 and 17.5 to 17.6).

use core::fmt;
use node::Time;
use packet::ethernet::Mac;

/// Identifier of a bridge: 16 bits of priority, then its MAC address. The lower, the better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BridgeId(pub u64);

impl BridgeId {
    /// Of a bridge with this priority and address.
    pub fn new(priority: u16, mac: Mac) -> BridgeId {
        let [a, b, c, d, e, f] = mac.0;
        BridgeId(u64::from(priority) << 48 | u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The address alone.
    pub fn mac(self) -> Mac {
        let [_, _, mac @ ..] = self.0.to_be_bytes();
        Mac(mac)
    }
}

impl fmt::Display for BridgeId {
    /// Priority in decimal, then the address: `32768.02:00:00:00:00:01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 >> 48, self.mac())
    }
}

/// Identifier of a port: 4 bits of priority, 12 bits of number from 1 (section 9.2.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId(pub u16);

impl PortId {
    /// Of a port counted from 0; `priority` is a multiple of 16.
    pub fn new(priority: u8, port: u16) -> PortId {
        PortId(u16::from(priority & 0xF0) << 8 | (port + 1) & 0xFFF)
    }

    /// The number, from 1.
    pub fn number(self) -> u16 {
        self.0 & 0xFFF
    }
}

/// The first four parts of a priority vector, in the order in which they are compared: less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vector {
    /// The root.
    pub root: BridgeId,
    /// Cost of the path to it.
    pub cost: u32,
    /// The bridge that sends the message.
    pub bridge: BridgeId,
    /// The port that it is sent by.
    pub port: PortId,
}

/// Timer values of a BPDU, each in units of 1/256 s (section 9.2.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Age of the information.
    pub message_age: u16,
    /// Age from which on it is not valid.
    pub max_age: u16,
    /// Interval of messages.
    pub hello: u16,
    /// Duration of listening and of learning.
    pub forward_delay: u16,
}

/// Time of a value in 1/256 s.
pub(super) fn time(units: u16) -> Time {
    Time::from_ps(u64::from(units) * (Time::from_secs(1).as_ps() / 256))
}

/// Value in 1/256 s of a time of less than 256 s.
pub(super) fn units(time: Time) -> u16 {
    (time.as_ps() / (Time::from_secs(1).as_ps() / 256)) as u16
}

impl Times {
    /// The message age one bridge further on: 1 s more, rounded to a whole second (section 17.21.20).
    pub(super) fn aged(self) -> Times {
        let age = (u32::from(self.message_age) + 256 + 128) / 256 * 256;
        Times {
            message_age: age.min(u16::MAX.into()) as u16,
            ..self
        }
    }

    /// The values within the ranges of section 17.14, table 17-1; forward delay from 2 s as in Linux.
    pub(super) fn clamped(self) -> Times {
        const S: u16 = 256;
        Times {
            message_age: self.message_age,
            max_age: self.max_age.clamp(6 * S, 40 * S),
            hello: self.hello.clamp(S, 10 * S),
            forward_delay: self.forward_delay.clamp(2 * S, 30 * S),
        }
    }
}
