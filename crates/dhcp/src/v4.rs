//! DHCP for IPv4 (RFC 2131).

pub mod client;
pub mod message;
pub mod options;
pub mod policy;
pub mod relay;
pub mod server;
