//! Packets and bytes over windows of equal length.

use crate::statistics::{Moments, Summary};
use alloc::vec::Vec;
use node::Time;

/// Maximum number of windows that are kept for a picture.
pub const MAX_WINDOWS: usize = 1024;
/// The first length of windows that is tried, in ps.
const FIRST: u128 = 1_000_000;

/// Mean number of packets that a window should have.
const ENOUGH: u64 = 100;
/// Minimum number of windows that remain when windows are merged to reach this mean.
const MIN_WINDOWS: u64 = 16;

/// Traffic of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Packets.
    pub packets: u64,
    /// Bytes, with FCS.
    pub bytes: u64,
    /// The shortest inter-packet delay, in ps; `u128::MAX` if there was none.
    pub shortest_ps: u128,
    /// The longest.
    pub longest_ps: u128,
}

const EMPTY: Window = Window {
    packets: 0,
    bytes: 0,
    shortest_ps: u128::MAX,
    longest_ps: 0,
};

/// The rate over windows: only whole ones count, from the first packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Their length, in ps.
    pub width_ps: u128,
    /// How many; zero where there would be more than 2^64.
    pub windows: u64,
    /// Packets in each.
    pub packets: Summary,
    /// Bytes in each, with FCS.
    pub bytes: Summary,
}

#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// The length that somebody asked for, in ps, and the sums over it.
    asked: Option<Asked>,
    /// The length of those in the list.
    width: u128,
    list: Vec<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    width: u128,
    /// The number of the window that is not whole yet.
    index: u128,
    packets: u64,
    bytes: u64,
    of_packets: Moments,
    of_bytes: Moments,
}

impl Windows {
    pub fn new(asked: Option<Time>) -> Windows {
        let asked = asked.map(|time| u128::from(time.as_ps().max(1)));
        Windows {
            width: asked.unwrap_or(FIRST),
            asked: asked.map(|width| Asked {
                width,
                index: 0,
                packets: 0,
                bytes: 0,
                of_packets: Moments::default(),
                of_bytes: Moments::default(),
            }),
            list: Vec::new(),
        }
    }

    /// A packet at `at` ps since the first.
    #[inline]
    pub fn add(&mut self, at: u128, bytes: u32) {
        if let Some(asked) = &mut self.asked {
            asked.add(at, bytes);
        }
        let mut index = at / self.width;
        while index >= MAX_WINDOWS as u128 {
            self.merge();
            index = at / self.width;
        }
        let index = index as usize;
        if index >= self.list.len() {
            if self.list.capacity() == 0 {
                self.list.reserve_exact(MAX_WINDOWS);
            }
            self.list.resize(index + 1, EMPTY);
        }
        let window = &mut self.list[index];
        window.packets += 1;
        window.bytes += u64::from(bytes);
    }

    /// The inter-packet delay of the packet that came last.
    #[inline]
    pub fn delay(&mut self, delay: u128) {
        if let Some(window) = self.list.last_mut() {
            window.shortest_ps = window.shortest_ps.min(delay);
            window.longest_ps = window.longest_ps.max(delay);
        }
    }

    /// Makes windows twice as long.
    fn merge(&mut self) {
        self.width = self.width.saturating_mul(2);
        for index in 0..self.list.len().div_ceil(2) {
            let mut window = self.list[2 * index];
            if let Some(second) = self.list.get(2 * index + 1) {
                window.packets += second.packets;
                window.bytes += second.bytes;
                window.shortest_ps = window.shortest_ps.min(second.shortest_ps);
                window.longest_ps = window.longest_ps.max(second.longest_ps);
            }
            self.list[index] = window;
        }
        self.list.truncate(self.list.len().div_ceil(2));
    }

    pub fn list(&self) -> (u128, &[Window]) {
        (self.width, &self.list)
    }

    /// How many windows of the list to take together, so that a packet more or less in one makes no
    /// great difference.
    fn together(&self) -> usize {
        let packets: u64 = self.list.iter().map(|window| window.packets).sum();
        let mut together = 1;
        while packets * together < ENOUGH * self.list.len() as u64
            && self.list.len() as u64 / (2 * together) >= MIN_WINDOWS
        {
            together *= 2;
        }
        together as usize
    }

    pub fn rates(&self) -> Rates {
        if let Some(asked) = &self.asked {
            return asked.rates();
        }
        let (mut packets, mut bytes) = (Moments::default(), Moments::default());
        let together = self.together();
        // The last is not whole.
        let whole = self.list.len().saturating_sub(1) / together;
        for windows in self.list.chunks_exact(together).take(whole) {
            packets.add(windows.iter().map(|window| window.packets).sum());
            bytes.add(windows.iter().map(|window| window.bytes).sum());
        }
        Rates {
            width_ps: self.width.saturating_mul(together as u128),
            windows: whole as u64,
            packets: packets.summary(),
            bytes: bytes.summary(),
        }
    }
}

impl Asked {
    fn add(&mut self, at: u128, bytes: u32) {
        let index = at / self.width;
        if index > self.index {
            self.of_packets.add(self.packets);
            self.of_bytes.add(self.bytes);
            // Those in which nothing came.
            let empty = u64::try_from(index - self.index - 1).unwrap_or(u64::MAX);
            self.of_packets.add_many(0, empty);
            self.of_bytes.add_many(0, empty);
            (self.index, self.packets, self.bytes) = (index, 0, 0);
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    fn rates(&self) -> Rates {
        let bytes = self.of_bytes.summary();
        // More windows than are counted have no mean.
        if bytes.count == u64::MAX {
            return Rates {
                width_ps: self.width,
                ..Rates::default()
            };
        }
        Rates {
            width_ps: self.width,
            windows: bytes.count,
            packets: self.of_packets.summary(),
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_were_asked_for_count_empty_ones_too() {
        let mut windows = Windows::new(Some(Time::from_ns(10)));
        for at in [0, 5_000, 12_000, 45_000] {
            windows.add(at, 64);
        }
        let rates = windows.rates();
        // 2, 1, 0, 0; the last one is not whole.
        assert_eq!(rates.windows, 4);
        assert_eq!((rates.packets.min, rates.packets.max), (0, 2));
        assert_eq!(rates.packets.mean, 0.75);
        assert_eq!(rates.bytes.max, 128);
    }

    #[test]
    fn windows_grow_so_that_they_stay_few_and_lose_no_packet() {
        let mut windows = Windows::new(None);
        for n in 0..100_000u128 {
            windows.add(n * 1_000_000, 100);
            windows.delay(n);
        }
        let (width, list) = windows.list();
        assert!(list.len() <= MAX_WINDOWS && list.len() > MAX_WINDOWS / 2 - 1);
        assert_eq!(width, 128 * FIRST);
        assert_eq!(
            list.iter().map(|window| window.packets).sum::<u64>(),
            100_000
        );
        let rates = windows.rates();
        assert_eq!((rates.packets.mean, rates.packets.sd), (128.0, 0.0));
        // A thousand years later.
        windows.add(1 << 75, 1);
        assert!(windows.list().1.len() <= MAX_WINDOWS);
    }

    #[test]
    fn more_windows_than_there_are_numbers_have_no_rate() {
        let mut windows = Windows::new(Some(Time::from_ps(1)));
        windows.add(0, 64);
        windows.add(1 << 63, 64);
        assert_eq!(windows.rates().windows, 1 << 63);
        windows.add(1 << 65, 64);
        assert_eq!(windows.rates().windows, 0);
    }
}
