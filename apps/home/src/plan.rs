//! Addresses: each device has a /30 of its own (paper 003, section 4.4.1).
//!
//! Of the four addresses of a /30 the first is the network, `.1` the gateway, `.2` the device, and the last one the broadcast address.
//! The /30 of slot 0 has the router (`.1`) and its control program (`.2`). The last /30 belongs to the machine on which the
//! router runs.

use core::net::Ipv4Addr;

/// The addresses of a home: a network of /16 to /28, cut into /30.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    network: u32,
    prefix: u8,
}

/// A network that cannot be a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the network of a home has a prefix of 16 to 28 bits and no bits after it, such as 10.2.0.0/16"
)]
pub struct BadPlan;

impl Default for Plan {
    /// 10.2.0.0/16, as in the paper: 16,382 devices.
    fn default() -> Plan {
        Plan {
            network: u32::from(Ipv4Addr::new(10, 2, 0, 0)),
            prefix: 16,
        }
    }
}

impl Plan {
    /// A plan for this network.
    ///
    /// # Errors
    /// When the prefix is shorter than 16 or longer than 28 bits, or the address has bits after it.
    pub fn new(network: Ipv4Addr, prefix: u8) -> Result<Plan, BadPlan> {
        let network = u32::from(network);
        let is_plan =
            (16..=28).contains(&prefix) && network.trailing_zeros() >= 32 - u32::from(prefix);
        is_plan.then_some(Plan { network, prefix }).ok_or(BadPlan)
    }

    /// Number of slots of devices and the router: 3 to 16,383.
    pub fn slots(&self) -> u16 {
        self.host()
    }

    /// The slot of the machine on which the router runs.
    pub fn host(&self) -> u16 {
        (1 << (30 - self.prefix)) - 1
    }

    /// The network and the length of its prefix.
    pub fn network(&self) -> (Ipv4Addr, u8) {
        (self.network.into(), self.prefix)
    }

    /// The gateway of a slot.
    pub fn gateway(&self, slot: u16) -> Ipv4Addr {
        (self.network + u32::from(slot) * 4 + 1).into()
    }

    /// The device of a slot.
    pub fn device(&self, slot: u16) -> Ipv4Addr {
        (self.network + u32::from(slot) * 4 + 2).into()
    }

    /// Whether an address is the router's own, or of the machine on which it runs.
    pub fn is_router(&self, address: Ipv4Addr) -> bool {
        address == self.gateway(0) || address == self.device(self.host())
    }

    /// Whether an address belongs to this home.
    pub fn holds(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ self.network) >> (32 - self.prefix) == 0
    }

    /// The slot of an address of this home.
    pub fn slot(&self, address: Ipv4Addr) -> Option<u16> {
        // At most 14 bits.
        self.holds(address)
            .then(|| ((u32::from(address) - self.network) / 4) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_its_own_four_addresses() {
        for prefix in 16..=28 {
            let plan = Plan::new(Ipv4Addr::new(10, 2, 0, 0), prefix).expect("a plan");
            for slot in [0, 1, plan.slots() / 2, plan.slots() - 1] {
                assert_eq!(plan.slot(plan.gateway(slot)), Some(slot));
                assert_eq!(plan.slot(plan.device(slot)), Some(slot));
            }
            let past = u32::from(plan.device(plan.host())) + 2;
            assert_eq!(plan.slot(past.into()), None);
        }
        assert_eq!(Plan::default().slots(), 16_383);
        assert_eq!(Plan::default().device(1), Ipv4Addr::new(10, 2, 0, 6));
    }

    #[test]
    fn a_network_with_bits_after_its_prefix_is_no_plan() {
        assert_eq!(Plan::new(Ipv4Addr::new(10, 2, 0, 4), 16), Err(BadPlan));
        assert_eq!(Plan::new(Ipv4Addr::new(10, 2, 0, 0), 15), Err(BadPlan));
        assert_eq!(Plan::new(Ipv4Addr::new(10, 2, 0, 0), 29), Err(BadPlan));
    }
}
