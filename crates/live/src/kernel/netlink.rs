//! Netlink (netlink(7)): messages as bytes, and a socket for them. rtnetlink, nf_tables and netfilter queues speak it.

pub mod message;
mod socket;

pub use message::{HEADER, Message, NESTED, Received, attributes, messages};
pub use socket::{Protocol, Socket};
