//! Lightweight remote calls over UDP, after those of the Homework Database, with one outstanding
//! packet in each connection. Client and server cores without I/O or a clock.
//!
//! - **Requests and replies of any size** up to a limit travel in fragments, each acknowledged before
//!   the next. The reply acknowledges the request, and the next request acknowledges the reply,
//!   so a quick exchange takes two packets. A separate acknowledgement follows after [`ACK_DELAY`].
//! - **Long exchanges**: a waiting client sends pings, so that each end knows that the other is
//!   alive; [`MAX_TRIES`] without an answer end the connection.
//! - **Lost, repeated and reordered packets**: each packet has the number of its exchange and
//!   fragment; an unacknowledged packet is retransmitted at intervals that double from
//!   [`RETRY_INTERVAL`] to [`MAX_RETRY_INTERVAL`].
//!
//! # Cost of a peer
//! Until a client has proved that it receives at its address, by returning a keyed hash of it, the
//! server keeps no state and sends no more bytes than it received. After that, [`ServerLimits`] bound
//! the connections in total and of each IPv4 address or IPv6 /64, and the bytes of all requests and
//! replies. The response to a packet of an unknown connection is no longer than the packet. Calls
//! are neither encrypted nor authenticated: serve them on loopback or on a trusted network.

mod client;
pub mod packet;
mod server;
mod transfer;

pub use client::{CallError, Client, ClientEvent};
pub use packet::{Kind, MAX_FRAGMENT_LEN, Packet};
pub use server::{ConnectionId, Server, ServerCounts, ServerEvent, ServerLimits};

use node::Time;

/// Delay of an acknowledgement, during which a reply or request may replace it.
pub const ACK_DELAY: Time = Time::from_ms(20);
/// Time until the first retransmission of an unacknowledged packet.
pub const RETRY_INTERVAL: Time = Time::from_ms(100);
/// Maximum time between two attempts.
pub const MAX_RETRY_INTERVAL: Time = Time::from_secs(2);
/// Number of attempts after which the connection ends.
pub const MAX_TRIES: u32 = 8;
/// Time between the pings of a client.
pub const PING_INTERVAL: Time = Time::from_secs(5);
/// Time without packets after which a server forgets a connection.
pub const IDLE_TIMEOUT: Time = Time::from_secs(60);
/// Maximum length of a request, bytes.
pub const MAX_REQUEST_LEN: usize = 64 << 10;
/// Maximum length of a reply, bytes.
pub const MAX_REPLY_LEN: usize = 4 << 20;
