//! DHCP for IPv6 (RFC 9915, RFC 8415).

pub mod client;
pub mod message;
pub mod policy;
pub mod relay;
pub mod server;
