//! Connections of the router itself: those of remote endpoints that have sent datagrams to it, and its own, whose answers are for no host
//! inside. As in Linux they occupy external ports: a host inside that sends to the same remote endpoint gets another port.

use super::endpoint::Endpoint;
use alloc::collections::BTreeMap;
use node::Time;

/// Maximum number of connections that are remembered; more are not.
const MAX_STRANGERS: usize = 4_096;

/// Protocol, external and remote endpoint of each connection, and the time at which it is forgotten.
#[derive(Debug, Default)]
pub(super) struct Strangers(BTreeMap<(u8, [Endpoint; 2]), Time>);

impl Strangers {
    /// Remembers a connection until `until`.
    pub fn note(
        &mut self,
        now: Time,
        protocol: u8,
        external: Endpoint,
        remote: Endpoint,
        until: Time,
    ) {
        let key = (protocol, [external, remote]);
        if self.0.len() >= MAX_STRANGERS && !self.0.contains_key(&key) {
            self.0.retain(|_, until| *until > now);
            if self.0.len() >= MAX_STRANGERS {
                return;
            }
        }
        self.0.insert(key, until);
    }

    /// Whether a connection is remembered.
    pub fn contains(&self, now: Time, protocol: u8, external: Endpoint, remote: Endpoint) -> bool {
        self.0
            .get(&(protocol, [external, remote]))
            .is_some_and(|until| *until > now)
    }
}
