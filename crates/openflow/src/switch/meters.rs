//! Meters: token buckets in exact time (1.3.5 section 5.7).

use crate::message::meter_flags;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use node::{Rate, Time};

/// What a band does with packets above its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BandType {
    Drop,
    /// Raises the drop precedence of DSCP by so much.
    Remark(u8),
}

/// A band: a bucket that fills with time.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub band_type: BandType,
    /// As it was asked for: kb/s, or packets a second.
    pub rate: u32,
    /// As it was asked for: kb, or packets.
    pub burst: u32,
    /// What fills: bits, or packets, a second.
    fill: Rate,
    /// What is in a full bucket, as the time that it takes to fill.
    depth: Time,
    /// When the bucket will be full, and the part of a picosecond that is missing to it.
    full_at: Time,
    carry: u64,
    pub packets: u64,
    pub bytes: u64,
}

impl Band {
    /// A band whose bucket is full; `None` for a rate of zero.
    pub fn new(
        band_type: BandType,
        rate: u32,
        burst: u32,
        packets: bool,
        has_burst: bool,
    ) -> Option<Band> {
        let scale = if packets { 1 } else { 1_000 };
        let fill = Rate::from_bits_per_second(u64::from(rate) * scale)?;
        // Without a burst of its own, what the rate brings in a tenth of a second, and one packet at least.
        let least = if packets { 1 } else { 16_000 * 8 };
        let units = match has_burst && burst > 0 {
            true => (u64::from(burst) * scale).max(least),
            false => (u64::from(rate) * scale / 10).max(least),
        };
        Some(Band {
            band_type,
            rate,
            burst,
            fill,
            depth: fill.time_of(units, 0).0,
            full_at: Time::ZERO,
            carry: 0,
            packets: 0,
            bytes: 0,
        })
    }

    /// Takes so many units, if they are there; says whether they were not.
    fn exceeded(&mut self, now: Time, units: u64) -> bool {
        let (from, carry) = match self.full_at > now {
            true => (self.full_at, self.carry),
            false => (now, 0),
        };
        let (time, carry) = self.fill.time_of(units, carry);
        if from + time > now + self.depth {
            return true;
        }
        (self.full_at, self.carry) = (from + time, carry);
        false
    }
}

#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub flags: u16,
    pub bands: Vec<Band>,
    pub created: Time,
    pub packets: u64,
    pub bytes: u64,
    /// Entries that lead to it.
    pub flows: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Drop,
    Remark(u8),
}

impl Meter {
    /// Measures a packet, and says what becomes of it: what the band of the highest rate that is exceeded does.
    pub fn measure(&mut self, now: Time, length: usize) -> Verdict {
        self.packets += 1;
        self.bytes += length as u64;
        let units = match self.flags & meter_flags::PKTPS {
            0 => length as u64 * 8,
            _ => 1,
        };
        let mut worst: Option<&mut Band> = None;
        for band in &mut self.bands {
            if band.exceeded(now, units) && worst.as_ref().is_none_or(|w| band.rate >= w.rate) {
                worst = Some(band);
            }
        }
        let Some(band) = worst else {
            return Verdict::Pass;
        };
        band.packets += 1;
        band.bytes += length as u64;
        match band.band_type {
            BandType::Drop => Verdict::Drop,
            BandType::Remark(levels) => Verdict::Remark(levels),
        }
    }
}

/// DSCP with its drop precedence raised (RFC 2597): AFx1 becomes AFx2, AFx3 at most. Other classes stay.
pub(super) fn remark(dscp: u8, levels: u8) -> u8 {
    let (class, precedence) = (dscp >> 3, dscp >> 1 & 3);
    match dscp & 1 == 0 && (1..=4).contains(&class) && precedence > 0 {
        true => class << 3 | (precedence + levels.min(3)).min(3) << 1,
        false => dscp,
    }
}

/// All meters, by number.
#[derive(Debug, Default)]
pub(super) struct Meters {
    pub all: BTreeMap<u32, Meter>,
}

impl Meters {
    pub fn has(&self, number: u32) -> bool {
        self.all.contains_key(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(flags: u16, bands: Vec<Band>) -> Meter {
        Meter {
            flags,
            bands,
            created: Time::ZERO,
            packets: 0,
            bytes: 0,
            flows: 0,
        }
    }

    #[test]
    fn what_passes_is_the_rate_and_the_burst_to_the_packet() {
        let band = Band::new(BandType::Drop, 1_000, 50, true, true).unwrap();
        let mut meter = meter(meter_flags::PKTPS | meter_flags::BURST, alloc::vec![band]);
        // Ten times the rate, for two seconds.
        let passed = (0..20_000u64)
            .filter(|&i| meter.measure(Time::from_us(i * 100), 64) == Verdict::Pass)
            .count();
        assert_eq!(passed, 50 + 1_999);
        assert_eq!(meter.bands[0].packets, 20_000 - 2_049);
    }

    #[test]
    fn of_two_bands_the_higher_that_is_exceeded_acts() {
        let bands = alloc::vec![
            Band::new(BandType::Remark(1), 10, 1, true, true).unwrap(),
            Band::new(BandType::Drop, 100, 2, true, true).unwrap(),
        ];
        let mut meter = meter(meter_flags::PKTPS | meter_flags::BURST, bands);
        let verdicts = [0; 4].map(|_| meter.measure(Time::ZERO, 64));
        assert_eq!(
            verdicts,
            [
                Verdict::Pass,
                Verdict::Remark(1),
                Verdict::Drop,
                Verdict::Drop
            ]
        );
    }

    #[test]
    fn drop_precedence_is_raised_within_its_class() {
        // AF11, AF12, AF13 are 10, 12, 14.
        assert_eq!((remark(10, 1), remark(10, 2), remark(12, 5)), (12, 14, 14));
        // Best effort and expedited forwarding have none.
        assert_eq!((remark(0, 1), remark(46, 1)), (0, 46));
    }
}
