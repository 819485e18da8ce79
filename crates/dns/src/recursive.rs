//! Servers that answer clients with the help of other servers.

use crate::exchange::Via;
use crate::front::Send;
use crate::reply::Client;
use core::net::SocketAddr;
use node::{Statistics, Time};

/// A forwarder or a resolver: queries of clients in, queries to servers and responses out.
pub trait Recursive: core::fmt::Debug + core::marker::Send {
    /// The name of its service.
    const NAME: &str;

    /// Takes a query of a client.
    fn handle_query(&mut self, now: Time, client: Client, query: &[u8], send: &mut Send<'_>);

    /// Handles a message that arrived at a port other than 53. Returns `false`, and counts it, if it is not the response to a query.
    fn handle_response(
        &mut self,
        now: Time,
        from: SocketAddr,
        via: Via,
        response: &[u8],
        send: &mut Send<'_>,
    ) -> bool;

    /// Handles a connection to a server that ended before all responses; call [`wake`](Recursive::wake) after it.
    fn handle_lost(&mut self, now: Time, server: SocketAddr);

    /// Whether a query over UDP is outstanding from a local port.
    fn has_port(&self, port: u16) -> bool;

    /// Time of the next call of [`wake`](Recursive::wake).
    fn next_wake(&self) -> Option<Time>;

    /// Ends queries without a response in time.
    fn wake(&mut self, now: Time, send: &mut Send<'_>);

    /// Adds the counters to those of a node.
    fn count(&self, all: &mut Statistics);
}
