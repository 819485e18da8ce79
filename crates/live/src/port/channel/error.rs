//! What goes wrong with connections.

use crate::port::TlsError;
use std::io;

/// Why a connection has ended, or never came up.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// Nothing more comes from there.
    #[error("the far end is gone")]
    Gone,
    /// The host is known, but not where.
    #[error("the host has no address")]
    NoAddress,
    /// It did not take the connection.
    #[error("no answer in 10 s")]
    NoAnswer,
    /// It took the connection, and did not agree on keys.
    #[error("no handshake in 10 s")]
    NoHandshake,
    /// The port has as many as it may have.
    #[error("too many connections")]
    TooMany,
    /// Evicted for another connection, after no more than a hello.
    #[error("evicted for another connection, because it had sent no more than a hello")]
    GaveWay,
    /// The node asked for a connection of a port that waits for them.
    #[error("this port listens; it does not connect")]
    Listens,
    /// The socket takes no bytes.
    #[error("the system takes no more")]
    Stuck,
    /// The node did not keep to the protocol of segments.
    #[error("{0}")]
    Segments(&'static str),
    /// TLS cannot begin.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// What the system says.
    #[error(transparent)]
    Io(#[from] io::Error),
}
