//! Reasons for which no address is given.

/// Reason for which no address was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// All addresses have leases.
    #[error("no free address")]
    Exhausted,
    /// The table of leases is full.
    #[error("table of leases full")]
    Full,
    /// The circuit has as many leases as it may.
    #[error("too many leases of a circuit")]
    Circuit,
    /// Another client has the address, or it was declined.
    #[error("address in use")]
    Taken,
}

impl Refusal {
    /// As a reason of a drop.
    pub fn reason(self) -> &'static str {
        match self {
            Refusal::Exhausted => "no free address",
            Refusal::Full => "table of leases full",
            Refusal::Circuit => "too many leases of a circuit",
            Refusal::Taken => "address in use",
        }
    }
}
