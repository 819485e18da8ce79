//! `run = "dns-forwarder"`: a forwarder with a cache on port 53 of the node's own addresses.
//!
//! Keys: `servers`, recursive servers as addresses, with a port other than 53 as `192.0.2.1:5353` or `[fd00::1]:5353`;
//! `clients`, prefixes of the networks that are answered, default those of the link by which a query comes; `timeout`,
//! 800 ms: after it the next server is asked; `tries`, 5: maximum number of queries for a question; `mix_case`, false:
//! whether questions get letters of random case; `cache_bytes`, 4 MiB; `stale`, 0 s: how long after its TTL a response may be
//! given out when all servers fail; `max_questions`, 1024: waiting questions; `max_per_client`, 128: waiting queries; `tcp`:
//! limits of TCP connections, see [`stream::Config`]; `dns64`, none: AAAA records for a NAT64, see [`dns64::Config`].
//!
//! Counters: those of [`Recursive::count`](crate::recursive::Recursive::count), each after `dns_forwarder_`, those of connections
//! (`tcp_accepted`, `tcp_opened`, `tcp_refused`, `tcp_replaced`, `tcp_idle`, `tcp_reset`), and `refused_clients`.

use super::recursive::{RecursiveService, limits};
use super::stream;
use crate::dns64;
use crate::forwarder::{self, Forwarder};
use crate::policy::{PermitAll, Policy};
use crate::service::server::ServerAddress;
use alloc::boxed::Box;
use alloc::vec::Vec;
use ip::address::InterfaceAddress;
use ip::service::Service;
use node::{ConfigError, Time};

/// Configuration of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Recursive servers, at least one.
    pub servers: Vec<ServerAddress>,
    /// Networks of clients. Default: those of the link.
    pub clients: Vec<InterfaceAddress>,
    /// After this time the next server is asked. Default: 800 ms.
    pub timeout: Time,
    /// Maximum number of queries for a question. Default: 5.
    pub tries: u32,
    /// Whether questions get letters of random case. Default: no.
    pub mix_case: bool,
    /// Maximum memory of the cache, bytes. Default: 4 MiB.
    pub cache_bytes: usize,
    /// How long after its TTL a response may be given out. Default: 0 s.
    pub stale: Time,
    /// Maximum number of questions that wait. Default: 1024.
    pub max_questions: usize,
    /// Maximum number of queries of a client that wait. Default: 128.
    pub max_per_client: usize,
    /// Limits of TCP connections.
    pub tcp: stream::Config,
    /// AAAA records for a NAT64. Default: none.
    pub dns64: Option<dns64::Config>,
}

impl Default for Config {
    fn default() -> Config {
        let core = forwarder::Config::default();
        Config {
            servers: Vec::new(),
            clients: Vec::new(),
            timeout: core.timeout,
            tries: core.tries,
            mix_case: core.mix_case,
            cache_bytes: core.cache.bytes,
            stale: core.cache.stale,
            max_questions: core.limits.questions,
            max_per_client: core.limits.per_client,
            tcp: stream::Config::default(),
            dns64: None,
        }
    }
}

/// Makes the service.
///
/// # Errors
/// When there is no server, `timeout` or `tries` is zero, or `tcp` is out of range.
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    with_policy(config, PermitAll, seed)
}

/// As [`make`], with a policy.
///
/// # Errors
/// As of [`make`].
pub fn with_policy(
    config: &Config,
    policy: impl Policy + 'static,
    seed: u64,
) -> Result<Box<dyn Service>, ConfigError> {
    if config.servers.is_empty() {
        return Err(ConfigError::new("servers", "a forwarder needs a server"));
    }
    if config.tries == 0 {
        return Err(ConfigError::new("tries", "a question needs a query"));
    }
    config.tcp.check()?;
    let (cache, limits) = limits(
        config.timeout,
        [
            config.cache_bytes,
            config.max_questions,
            config.max_per_client,
        ],
        config.stale,
    )?;
    let core = forwarder::Config {
        tcp: true,
        servers: config.servers.iter().map(|server| server.0).collect(),
        timeout: config.timeout,
        tries: config.tries,
        mix_case: config.mix_case,
        cache,
        limits,
        dns64: config.dns64.clone(),
    };
    let forwarder = Forwarder::new(core, policy, seed);
    Ok(Box::new(RecursiveService::new(
        forwarder,
        config.clients.clone(),
        config.tcp,
        seed,
    )))
}
