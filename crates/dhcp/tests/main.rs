//! Behaviour of the protocols, by messages and in simulated networks.

#[cfg(feature = "serde")]
mod config;
mod v4_messages;
mod v4_model;
mod v4_network;
mod v6_delegation;
mod v6_messages;
mod v6_model;
mod v6_network;
