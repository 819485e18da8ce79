//! What outlives a packet, but for tables: registers, counters, meters, members of action profiles, value sets, groups of ports.
//!
//! All of it is shared by the packets' thread and the control plane's, which change it through `&self`. A packet never waits for the control
//! plane: what is small is in atomics, what is large is published as a whole ([`Published`]).

pub mod checksum;
pub mod counter;
pub mod meter;
pub mod nic;
pub mod profile;
pub mod published;
pub mod queue;
pub mod register;
pub mod replication;
pub mod value_set;

pub use counter::Counter;
pub use meter::Meter;
pub use profile::Profile;
pub use published::{Published, Reader};
pub use queue::Queue;
pub use register::Register;
pub use replication::Replication;
pub use value_set::ValueSet;
