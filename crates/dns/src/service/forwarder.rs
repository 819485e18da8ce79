//! `run = "dns-forwarder"`: a forwarder with a cache on port 53 of the node's own addresses.
//!
//! Keys: `servers`, recursive servers as addresses, with a port other than 53 as `192.0.2.1:5353` or `[fd00::1]:5353`;
//! `clients`, prefixes of the networks that are answered, default those of the link by which a query comes; `timeout`,
//! 800 ms: after it the next server is asked; `tries`, 5: maximum number of queries for a question; `mix_case`, false:
//! whether questions get letters of random case; `cache_bytes`, 4 MiB; `stale`, 0 s: how long after its TTL a response may be
//! given out when all servers fail; `max_questions`, 1024: that wait; `max_per_client`, 128: queries that wait.
//!
//! Counters: those of [`Forwarder::count`], each after `dns_forwarder_`, and `refused_clients`.

use super::recursive::{Recursive, RecursiveService};
use crate::forwarder::{self, Forwarder};
use crate::front::{self, Send};
use crate::policy::{PermitAll, Policy};
use crate::reply::Client;
use crate::{cache, service::server::ServerAddress};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::SocketAddr;
use ip::address::InterfaceAddress;
use ip::service::Service;
use node::{ConfigError, Statistics, Time};

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
        }
    }
}

/// Makes the service.
///
/// # Errors
/// When there is no server, or `timeout` or `tries` is zero.
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
    if config.timeout == Time::ZERO {
        return Err(ConfigError::new(
            "timeout",
            "a server needs time to respond",
        ));
    }
    if config.tries == 0 {
        return Err(ConfigError::new("tries", "a question needs a query"));
    }
    let core = forwarder::Config {
        servers: config.servers.iter().map(|server| server.0).collect(),
        timeout: config.timeout,
        tries: config.tries,
        mix_case: config.mix_case,
        cache: cache::Limits {
            bytes: config.cache_bytes,
            stale: config.stale,
            ..cache::Limits::default()
        },
        limits: front::Limits {
            questions: config.max_questions,
            per_client: config.max_per_client,
            ..front::Limits::default()
        },
    };
    let forwarder = Forwarder::new(core, policy, seed);
    Ok(Box::new(RecursiveService::new(
        forwarder,
        config.clients.clone(),
    )))
}

impl<P: Policy> Recursive for Forwarder<P> {
    const NAME: &str = "dns-forwarder";

    fn handle_query(&mut self, now: Time, client: Client, query: &[u8], send: &mut Send<'_>) {
        Forwarder::handle_query(self, now, client, query, send);
    }

    fn has_port(&self, port: u16) -> bool {
        Forwarder::has_port(self, port)
    }

    fn handle_response(
        &mut self,
        now: Time,
        from: SocketAddr,
        port: u16,
        response: &[u8],
        send: &mut Send<'_>,
    ) -> bool {
        Forwarder::handle_response(self, now, from, port, response, send)
    }

    fn wake(&mut self, now: Time, send: &mut Send<'_>) {
        Forwarder::wake(self, now, send);
    }

    fn next_wake(&self) -> Option<Time> {
        Forwarder::next_wake(self)
    }

    fn count(&self, all: &mut Statistics) {
        Forwarder::count(self, all);
    }
}
