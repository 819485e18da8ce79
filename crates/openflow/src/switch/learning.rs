//! Stations that the switch has seen: what it forwards by when nobody tells it how.

use alloc::vec::Vec;
use node::Time;

/// Stations known at once: four in each of 4096 rows.
const ROWS: usize = 4096;
/// How long one is known after its last frame.
const AGEING: Time = Time::from_secs(300);

#[derive(Clone, Copy, Debug, Default)]
struct Station {
    /// The VLAN above the address; zero is none.
    name: u64,
    port: u32,
    seen: Time,
}

/// Stations by address and VLAN. Bounded: in a full row the one that was silent longest goes.
#[derive(Debug, Default)]
pub(super) struct Learning {
    rows: Vec<[Station; 4]>,
    seed: u64,
}

impl Learning {
    pub fn new(seed: u64) -> Learning {
        Learning {
            rows: Vec::new(),
            seed,
        }
    }

    fn row(&self, name: u64) -> usize {
        let product = u128::from(name ^ self.seed) * 0x9E37_79B9_7F4A_7C15u128;
        ((product >> 64) as u64 ^ product as u64) as usize % ROWS
    }

    fn name(vlan: u16, address: u64) -> u64 {
        u64::from(vlan) << 48 | address
    }

    /// Takes down where a station is. Group addresses are none.
    pub fn learn(&mut self, now: Time, vlan: u16, address: u64, port: u32) {
        if address >> 40 & 1 == 1 || address == 0 {
            return;
        }
        if self.rows.is_empty() {
            self.rows.resize(ROWS, Default::default());
        }
        let name = Learning::name(vlan, address);
        let row = self.row(name);
        let row = &mut self.rows[row];
        let index = row.iter().position(|station| station.name == name);
        let oldest = || (0..row.len()).min_by_key(|&i| row[i].seen).unwrap_or(0);
        row[index.unwrap_or_else(oldest)] = Station {
            name,
            port,
            seen: now,
        };
    }

    /// Where a station is.
    pub fn find(&self, now: Time, vlan: u16, address: u64) -> Option<u32> {
        let name = Learning::name(vlan, address);
        let row = self.rows.get(self.row(name))?;
        let known = row.iter().find(|s| s.name == name && name != 0)?;
        (known.seen + AGEING > now).then_some(known.port)
    }

    /// Forgets what is at a port.
    pub fn forget(&mut self, port: u32) {
        for station in self.rows.iter_mut().flatten().filter(|s| s.port == port) {
            *station = Station::default();
        }
    }
}
