//! Names and addresses: a client that asks, and a server that knows (RFC 1035, RFC 3596), over UDP.
//!
//! Client: `to`, port 53; `names`, a list: asked for in turn; `start`, 0; `every`, 1 s: between two questions, a
//! distribution; `count`, none: how many; `timeout`, 5 s, after which a question is asked once more, and then lost. Asks for addresses of IPv4,
//! or with `ipv6` of IPv6.
//!
//! Server: `port`, 53; `names`, a table: addresses by name, one or several; `default`, none: the addresses of all other
//! names, which else do not exist; `ttl`, 60 seconds.

mod client;
mod message;
mod server;

pub use client::Config;
pub use server::{Records, ServerConfig};

pub(crate) use client::Client;
pub(crate) use server::Server;

/// The usual port.
pub const PORT: u16 = 53;
