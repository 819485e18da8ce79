//! `run = "dns-resolver"`: an iterative resolver on port 53 of the node's own addresses.
//!
//! Keys: `roots`, servers of the root zone, default those of the Internet; `clients`, prefixes of the networks that are
//! answered, default those of the link by which a query comes; `minimise`, true: whether servers see no more of a name than
//! they need; `ipv6`, false: whether servers are asked by IPv6, too; `timeout`, 800 ms: after it another server is asked;
//! `max_time`, 12 s: after it a question fails; `max_queries`, 50: for a question; `mix_case`, false: whether questions get
//! letters of random case; `cache_bytes`, 4 MiB; `stale`, 0 s: how long after its TTL a response may be given out when all
//! servers fail; `max_questions`, 1024: waiting questions; `max_per_client`, 128: waiting queries; `tcp`:
//! limits of TCP connections, see [`stream::Config`]; `dns64`, none: AAAA records for a NAT64, see [`dns64::Config`].
//!
//! Counters: those of [`Recursive::count`](crate::recursive::Recursive::count), each after `dns_resolver_`, those of connections
//! (`tcp_accepted`, `tcp_opened`, `tcp_refused`, `tcp_replaced`, `tcp_idle`, `tcp_reset`), and `refused_clients`.

use super::recursive::{RecursiveService, limits};
use super::stream;
use crate::dns64;
use crate::policy::{PermitAll, Policy};
use crate::resolver::{self, Resolver};
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
    /// Servers of the root zone. Default: those of the Internet.
    pub roots: Vec<ServerAddress>,
    /// Networks of clients. Default: those of the link.
    pub clients: Vec<InterfaceAddress>,
    /// Whether servers see no more of a name than they need. Default: yes.
    pub minimise: bool,
    /// Whether servers are asked by IPv6, too. Default: no.
    pub ipv6: bool,
    /// After this time another server is asked. Default: 800 ms.
    pub timeout: Time,
    /// After this time a question fails. Default: 12 s.
    pub max_time: Time,
    /// Maximum number of queries for a question. Default: 50.
    pub max_queries: u32,
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
        let core = resolver::Config::default();
        Config {
            roots: core.roots.into_iter().map(ServerAddress).collect(),
            clients: Vec::new(),
            minimise: core.minimise,
            ipv6: core.ipv6,
            timeout: core.timeout,
            max_time: core.max_time,
            max_queries: core.max_queries,
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
/// When there is no root server, `timeout` or `max_queries` is zero, or `tcp` is out of range.
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
    if config.roots.is_empty() {
        return Err(ConfigError::new(
            "roots",
            "a resolver needs a server of the root zone",
        ));
    }
    if config.max_queries == 0 {
        return Err(ConfigError::new("max_queries", "a question needs a query"));
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
    let core = resolver::Config {
        roots: config.roots.iter().map(|server| server.0).collect(),
        minimise: config.minimise,
        ipv6: config.ipv6,
        timeout: config.timeout,
        max_time: config.max_time,
        max_queries: config.max_queries,
        mix_case: config.mix_case,
        cache,
        limits,
        dns64: config.dns64.clone(),
        ..resolver::Config::default()
    };
    let resolver = Resolver::new(core, policy, seed);
    Ok(Box::new(RecursiveService::new(
        resolver,
        config.clients.clone(),
        config.tcp,
        seed,
    )))
}
