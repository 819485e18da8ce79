//! State of PNA's programs besides tables and objects: on which side ports are, and for how long
//! entries stay.

use super::Published;
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicU32, Ordering};
use node::Time;

/// State of PNA's programs besides tables and objects.
#[derive(Debug)]
pub struct Nic {
    /// For how long an entry stays that is not used, by the number of its profile; none for ever.
    pub expiry: Published<BTreeMap<u8, Option<Time>>>,
    /// On which side a port is. The others are on none.
    pub sides: Published<BTreeMap<u32, Side>>,
    flows: AtomicU32,
}

/// On which side of a NIC a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A network port.
    Net,
    /// A port of the host.
    Host,
}

/// Seconds of profiles 0 to 7 until the control plane says otherwise, as DPDK's pipelines have
/// them.
pub const EXPIRY: [u64; 8] = [10, 30, 60, 120, 300, 43_200, 120, 120];

impl Default for Nic {
    fn default() -> Self {
        let times = (0..).zip(EXPIRY.map(|seconds| Some(Time::from_secs(seconds))));
        Nic {
            expiry: Published::new(times.collect()),
            sides: Published::default(),
            flows: AtomicU32::new(0),
        }
    }
}

impl Nic {
    /// Number of allocated flow ids, modulo 2^32.
    #[must_use]
    pub fn flows(&self) -> u32 {
        self.flows.load(Ordering::Relaxed)
    }

    /// For an engine that allocates flow ids by itself.
    pub fn set_flows(&self, given: u32) {
        self.flows.store(given, Ordering::Relaxed);
    }

    /// A number that no other flow has, until all are given.
    pub(crate) fn allocate_flow(&self) -> u32 {
        self.flows.fetch_add(1, Ordering::Relaxed)
    }
}
