//! Static mappings.

use super::config::{Forward, Transport};
use super::endpoint::Endpoint;
use alloc::collections::BTreeMap;
use alloc::format;
use node::ConfigError;
use packet::ipv4::protocol;

/// Static mappings in both directions.
#[derive(Debug, Default)]
pub(super) struct Forwards {
    to_external: BTreeMap<(u8, Endpoint), Endpoint>,
    to_inside: BTreeMap<(u8, Endpoint), Endpoint>,
}

impl Forwards {
    /// # Errors
    /// When an endpoint has two mappings.
    pub fn new(forwards: &[Forward]) -> Result<Forwards, ConfigError> {
        let mut all = Forwards::default();
        for forward in forwards {
            let number = match forward.protocol {
                Transport::Tcp => protocol::TCP,
                Transport::Udp => protocol::UDP,
            };
            let (inside, external) = (forward.inside.into(), forward.external.into());
            let before = [
                all.to_external.insert((number, inside), external),
                all.to_inside.insert((number, external), inside),
            ];
            if before != [None; 2] {
                let reason = format!(
                    "{} or {} has two mappings",
                    forward.inside, forward.external
                );
                return Err(ConfigError::new("forward", reason));
            }
        }
        Ok(all)
    }

    pub fn external(&self, number: u8, inside: Endpoint) -> Option<Endpoint> {
        self.to_external.get(&(number, inside)).copied()
    }

    pub fn inside(&self, number: u8, external: Endpoint) -> Option<Endpoint> {
        self.to_inside.get(&(number, external)).copied()
    }

    /// Protocol, inside and external endpoint of each.
    pub fn iter(&self) -> impl Iterator<Item = (u8, Endpoint, Endpoint)> {
        let all = self.to_external.iter();
        all.map(|(&(number, inside), &external)| (number, inside, external))
    }
}
