//! The table of sending rates: RFC 9946 section 5.1 and Broadband Forum TR-471 annex B.
//!
//! Row r up to 1000 sends r Mb/s at the IP layer, by two transmitters, of which the first has bursts every 100 us and the second every
//! millisecond. Rows beyond have larger datagrams where those are allowed, and longer bursts then.

use alloc::vec::Vec;
use packet::udpstp::{IPV4_OVERHEAD, RANDOM_SIZE, SendingRate};

/// Rows of the table.
pub const ROWS: usize = 1153;
/// The last row that is a number of Mb/s: from here on steps are single ones.
pub const HIGH_SPEED: usize = 1000;
/// Maximum burst, datagrams.
pub const MAX_BURST: u32 = 100;
/// Minimum interval between bursts, us.
pub const MIN_INTERVAL_US: u32 = 100;

const INTERVAL1: u32 = MIN_INTERVAL_US;
const INTERVAL2: u32 = 1000;
/// Bytes of IP packets: usual, of an MTU of 1500, and jumbo.
const PACKET: u32 = 1250;
const TRADITIONAL: u32 = 1500;
const JUMBO: u32 = 9000;
/// Bytes of IP in a millisecond, for 1 Mb/s.
const MEGABIT: u32 = 125;

/// The rates that a server chooses from.
#[derive(Clone, Debug)]
pub struct Table(Vec<SendingRate>);

impl Table {
    /// With datagrams longer than an Ethernet frame above 1 Gb/s, or of an MTU of 1500 bytes.
    pub fn new(jumbo: bool, traditional_mtu: bool) -> Table {
        let packet = if traditional_mtu { TRADITIONAL } else { PACKET };
        let mut rows: Vec<SendingRate> = (0..=HIGH_SPEED as u32).map(|r| row(r, packet)).collect();
        let first = |packet, burst| SendingRate {
            interval1: INTERVAL1,
            payload1: packet - IPV4_OVERHEAD,
            burst1: burst,
            ..SendingRate::default()
        };
        let (largest, mut burst) = match (jumbo, traditional_mtu) {
            (true, _) => {
                let sizes = (PACKET + MEGABIT..=JUMBO).step_by(MEGABIT as usize);
                rows.extend(sizes.map(|packet| first(packet, 10)));
                (JUMBO, 11)
            }
            (false, true) => (TRADITIONAL, 9),
            (false, false) => (PACKET, 11),
        };
        while rows.len() < ROWS {
            rows.push(first(largest, burst.min(MAX_BURST)));
            burst += 1;
        }
        Table(rows)
    }

    /// The last row that asks for no more than so many bits a second; the first if all do.
    pub fn within(&self, bits_per_second: f64) -> usize {
        let more = self.0.iter().rposition(|row| rate(row) <= bits_per_second);
        more.unwrap_or(0)
    }

    /// A row; behind the last it is the last.
    pub fn row(&self, row: usize) -> SendingRate {
        self.0[row.min(ROWS - 1)]
    }
}

/// So many Mb/s by packets of this length: the first transmitter's tens, the second's ones, and what is left as one packet.
fn row(megabits: u32, packet: u32) -> SendingRate {
    let payload = packet - IPV4_OVERHEAD;
    if megabits == 0 {
        // A packet now and then, of any size.
        return SendingRate {
            interval2: 50_000,
            addon2: payload | RANDOM_SIZE,
            ..SendingRate::default()
        };
    }
    let ones = packet / MEGABIT;
    let (burst1, rest) = (megabits / (10 * ones), megabits % (10 * ones));
    let (burst2, addon) = (rest / ones, rest % ones);
    let used = |burst: u32, value: u32| if burst > 0 { value } else { 0 };
    SendingRate {
        interval1: used(burst1, INTERVAL1),
        payload1: used(burst1, payload),
        burst1,
        interval2: used(burst2 + addon, INTERVAL2),
        payload2: used(burst2, payload),
        burst2,
        addon2: used(addon, (addon * MEGABIT).saturating_sub(IPV4_OVERHEAD)),
    }
}

/// Bits a second at the IP layer over IPv4; of random sizes the most.
pub fn rate(row: &SendingRate) -> f64 {
    let of = |interval: u32, payload: u32, burst: u32| match interval {
        0 => 0.0,
        _ if payload == 0 => 0.0,
        _ => {
            let packet = (payload & !RANDOM_SIZE) + IPV4_OVERHEAD;
            f64::from(packet) * f64::from(burst) * 8e6 / f64::from(interval)
        }
    };
    of(row.interval1, row.payload1, row.burst1)
        + of(row.interval2, row.payload2, row.burst2)
        + of(row.interval2, row.addon2, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_up_to_1000_are_megabits_and_those_beyond_are_more() {
        for (jumbo, mtu) in [(true, false), (false, false), (true, true), (false, true)] {
            let table = Table::new(jumbo, mtu);
            assert_eq!(table.0.len(), ROWS);
            for row in 1..=HIGH_SPEED {
                let rate = rate(&table.row(row));
                assert!((rate - row as f64 * 1e6).abs() < 1.0, "{row}: {rate}");
            }
            let rates = (HIGH_SPEED..ROWS).map(|row| rate(&table.row(row)));
            assert!(rates.is_sorted(), "jumbo {jumbo}, MTU {mtu}");
        }
    }

    #[test]
    fn the_first_row_is_a_packet_of_any_size_now_and_then() {
        let row = Table::new(true, false).row(0);
        assert_eq!((row.burst1, row.burst2, row.interval2), (0, 0, 50_000));
        assert_eq!(row.addon2, RANDOM_SIZE | 1222);
    }

    /// TR-471: 1 Gb/s is bursts of ten packets of 1250 bytes every 100 us; the last row has jumbo packets.
    #[test]
    fn known_rows_are_as_published() {
        let table = Table::new(true, false);
        let row = table.row(HIGH_SPEED);
        assert_eq!((row.interval1, row.payload1, row.burst1), (100, 1222, 10));
        let row = table.row(1062);
        assert_eq!((row.payload1, row.burst1), (8972, 10));
        assert_eq!(table.row(ROWS), table.row(ROWS - 1));
        assert_eq!(table.within(50.5e6), 50);
        assert_eq!(table.within(1e3), 0);
        assert_eq!(table.within(1e12), ROWS - 1);
    }
}
