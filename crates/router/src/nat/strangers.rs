//! Remote endpoints that have sent datagrams to the router itself. As in Linux their connections occupy external ports: a host
//! inside that sends to the same remote endpoint gets another port.

use super::endpoint::Endpoint;
use alloc::collections::BTreeMap;
use node::Time;

/// Maximum number of connections that are remembered; more are not.
const MAX_STRANGERS: usize = 4_096;

/// Connections to the router itself: external and remote endpoint, and the time at which each is forgotten.
#[derive(Debug, Default)]
pub(super) struct Strangers(BTreeMap<[Endpoint; 2], Time>);

impl Strangers {
    /// Remembers a connection until `until`.
    pub fn note(&mut self, now: Time, external: Endpoint, remote: Endpoint, until: Time) {
        let key = [external, remote];
        if self.0.len() >= MAX_STRANGERS && !self.0.contains_key(&key) {
            self.0.retain(|_, until| *until > now);
            if self.0.len() >= MAX_STRANGERS {
                return;
            }
        }
        self.0.insert(key, until);
    }

    /// Whether a connection is remembered.
    pub fn contains(&self, now: Time, external: Endpoint, remote: Endpoint) -> bool {
        self.0
            .get(&[external, remote])
            .is_some_and(|until| *until > now)
    }
}
