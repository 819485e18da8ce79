//! Light calls over UDP, after the Homework Database's: a client asks, the server answers, with one
//! packet outstanding in each connection. Cores without I/O or a clock.
//!
//! - **Requests and replies of any size** up to a limit travel in fragments, each acknowledged before
//!   the next. The reply acknowledges the request, and the next request the reply: an exchange that
//!   is quick takes two packets. An acknowledgement of its own is sent after [`ACK_DELAY`].
//! - **Long exchanges**: a client that waits sends pings, so that each end knows that the other is
//!   there; [`MAX_TRIES`] without an answer end the connection.
//! - **Lost, repeated and reordered packets**: each packet has the number of its exchange and
//!   fragment; a packet that was sent and not acknowledged is sent again, at intervals that double
//!   from [`RETRY_INTERVAL`] to [`MAX_RETRY_INTERVAL`].
//!
//! # Cost of a peer
//! A server keeps no state and sends no more bytes than it got until the client has proved that it
//! receives at its address, by repeating a keyed hash of it. After that, a client costs what
//! [`ServerLimits`] allow: connections in all and of each IPv4 address or IPv6 /64, and bytes of all
//! requests and replies together. A packet that names no connection is answered by one of the same
//! size at most. Calls are neither encrypted nor authenticated: serve them on loopback or on a network
//! whose hosts may ask.

mod client;
pub mod packet;
mod server;
mod transfer;

pub use client::{CallError, Client, ClientEvent};
pub use packet::{Kind, MAX_FRAGMENT_LEN, Packet};
pub use server::{ConnectionId, Server, ServerCounts, ServerEvent, ServerLimits};

use node::Time;

/// Delay of an acknowledgement that may travel with a reply or request.
pub const ACK_DELAY: Time = Time::from_ms(20);
/// Time after which a packet without acknowledgement is sent again for the first time.
pub const RETRY_INTERVAL: Time = Time::from_ms(100);
/// Maximum time between two attempts.
pub const MAX_RETRY_INTERVAL: Time = Time::from_secs(2);
/// Attempts after which the far end is taken to be gone.
pub const MAX_TRIES: u32 = 8;
/// Time between the pings of a client.
pub const PING_INTERVAL: Time = Time::from_secs(5);
/// Time without packets after which a server forgets a connection.
pub const IDLE_TIMEOUT: Time = Time::from_secs(60);
/// Maximum length of a request, bytes.
pub const MAX_REQUEST_LEN: usize = 64 << 10;
/// Maximum length of a reply, bytes.
pub const MAX_REPLY_LEN: usize = 4 << 20;
