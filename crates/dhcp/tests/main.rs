//! Behaviour of the protocols, by messages and in simulated networks.

mod v4_messages;
mod v4_model;
mod v4_network;
mod v6_messages;
