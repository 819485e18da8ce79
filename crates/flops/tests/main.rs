//! The behaviour of the crate, one binary.

mod snmp;
