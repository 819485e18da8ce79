//! Runs of packets that follow each other closely.

use node::Histogram;

/// Bursts of two packets and more.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    /// Packets of the run that has not ended yet.
    run: u64,
    lengths: Histogram,
    packets: u64,
}

impl Bursts {
    /// A first packet.
    pub(super) fn begin(&mut self) {
        self.run = 1;
    }

    /// A further packet; `close` to the one before it.
    #[inline]
    pub(super) fn add(&mut self, close: bool) {
        if !close {
            self.end();
        }
        self.run += 1;
    }

    fn end(&mut self) {
        if self.run > 1 {
            self.lengths.record(self.run);
            self.packets += self.run;
        }
        self.run = 0;
    }

    /// The same, as if the stream ended here.
    pub(super) fn ended(&self) -> Bursts {
        let mut ended = self.clone();
        ended.end();
        ended
    }

    /// How many bursts there were.
    pub fn count(&self) -> u64 {
        self.lengths.total()
    }

    /// The packets in them.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their lengths, in packets.
    pub fn lengths(&self) -> &Histogram {
        &self.lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_alone_is_no_burst() {
        let mut bursts = Bursts::default();
        bursts.begin();
        for close in [false, true, true, false, true, false] {
            bursts.add(close);
        }
        let ended = bursts.ended();
        assert_eq!((ended.count(), ended.packets()), (2, 5));
        assert_eq!((ended.lengths().min(), ended.lengths().max()), (2, 3));
        assert_eq!(Bursts::default().ended().count(), 0);
    }
}
