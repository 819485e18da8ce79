//! The rate at which a port took packets.

use node::link;

/// Counts packets and their time on a line, from the first departure to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendRate {
    packets: u64,
    /// With padding, preambles, FCS and least gaps.
    wire_bytes: u64,
    last_wire_bytes: u64,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl SendRate {
    /// Adds packets of these lengths, in bytes without FCS.
    pub fn add(&mut self, lengths: impl IntoIterator<Item = usize>) {
        for len in lengths {
            self.packets += 1;
            self.last_wire_bytes = link::on_wire(len);
            self.wire_bytes += self.last_wire_bytes;
        }
    }

    /// Adds a call: the departures of its first and its last packet, ns.
    pub fn left(&mut self, first_ns: u64, last_ns: u64) {
        self.first_ns.get_or_insert(first_ns);
        self.last_ns = last_ns;
    }

    /// Adds the packets of another thread over the same time.
    pub fn merge(&mut self, other: &SendRate) {
        self.packets += other.packets;
        self.wire_bytes += other.wire_bytes;
        if other.last_ns >= self.last_ns {
            self.last_wire_bytes = other.last_wire_bytes;
        }
        self.first_ns = match (self.first_ns, other.first_ns) {
            (Some(own), Some(others)) => Some(own.min(others)),
            (own, others) => own.or(others),
        };
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// From the first departure to the last, ns; zero before there are two.
    pub fn span_ns(&self) -> u64 {
        self.last_ns
            .saturating_sub(self.first_ns.unwrap_or(self.last_ns))
    }

    /// Packets a second from the first departure to the last, which is not counted; `None` before there are two.
    pub fn packets_per_second(&self) -> Option<f64> {
        self.per_second(self.packets.checked_sub(1)?)
    }

    /// Bits a second on an Ethernet line, with preamble, FCS and least gap, from the first departure to the last, whose own
    /// frame is not counted; `None` before there are two.
    pub fn bits_per_second(&self) -> Option<f64> {
        self.per_second(8 * (self.wire_bytes - self.last_wire_bytes))
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        match self.span_ns() {
            0 => None,
            span => Some(count as f64 * 1e9 / span as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_packets_a_microsecond_apart_are_a_million_a_second() {
        let mut rate = SendRate::default();
        for at in [5_000, 6_000, 7_000] {
            rate.add([60]);
            rate.left(at, at);
        }
        assert_eq!(rate.packets_per_second(), Some(1e6));
        assert_eq!(rate.bits_per_second(), Some(84.0 * 8.0 * 1e6));
    }

    #[test]
    fn one_packet_has_no_rate() {
        let mut rate = SendRate::default();
        assert_eq!(rate.packets_per_second(), None);
        rate.add([60]);
        rate.left(5_000, 5_000);
        assert_eq!(
            (rate.packets_per_second(), rate.bits_per_second()),
            (None, None)
        );
    }

    #[test]
    fn threads_add_up_over_the_time_of_both() {
        let (mut one, mut other) = (SendRate::default(), SendRate::default());
        one.add([60, 60]);
        one.left(0, 1_000);
        other.add([1514, 1514, 1514]);
        other.left(500, 4_000);
        one.merge(&other);
        assert_eq!(one.span_ns(), 4_000);
        assert_eq!(one.packets_per_second(), Some(1e6));
        assert_eq!(
            one.bits_per_second(),
            Some(8.0 * f64::from(2 * 84 + 2 * 1538) * 1e9 / 4_000.0)
        );
    }
}
