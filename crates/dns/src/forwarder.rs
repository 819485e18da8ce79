//! Forwarder with a cache: queries of clients go to recursive servers, and their responses come back unchanged (RFC 5625).
//!
//! - **Servers** are asked in turn, from the one that responded last. One that does not respond in time, or with an error, is
//!   followed by the next.
//! - **Responses** keep all records, DNSSEC's included: a client that validates can do so through the forwarder. See
//!   [`reply`] for the fields that change.
//! - **Forged responses** are refused and counted, see [`exchange`].
//! - **Memory** is bounded: cache, waiting questions, queries under way. A client that floods costs itself.
//!
//! A truncated response is not used: the same server is asked once more, over TCP. Clients may ask over TCP, too.
//!
//! ```
//! use dns::forwarder::{Config, Forwarder};
//! use dns::front::Output;
//! use dns::message::Transport;
//! use dns::policy::PermitAll;
//! use dns::recursive::Recursive;
//! use dns::reply::Client;
//! use node::Time;
//!
//! let mut forwarder = Forwarder::new(
//!     Config { servers: vec!["192.0.2.53:53".parse().unwrap()], ..Config::default() },
//!     PermitAll,
//!     1,
//! );
//! let client = Client {
//!     address: "10.0.0.2:4000".parse().unwrap(),
//!     own: [10, 0, 0, 1].into(),
//!     link: 0,
//!     mac: [2, 0, 0, 0, 0, 2],
//!     transport: Transport::Udp,
//! };
//! let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\0\0\x01\0\x01";
//! let mut asked = None;
//! forwarder.handle_query(Time::ZERO, client, query, &mut |output| {
//!     if let Output::Query { server, .. } = output {
//!         asked = Some(server);
//!     }
//! });
//! assert_eq!(asked, Some("192.0.2.53:53".parse().unwrap()));
//! ```

use crate::cache;
use crate::dns64;
use crate::exchange::{self, Ended, Exchanges, Request, Via, timeout};
use crate::front::{self, Front, Output, Send};
use crate::message::Transport;
use crate::policy::Policy;
use crate::recursive::Recursive;
use crate::reply::{self, Client};
use alloc::vec::Vec;
use core::net::SocketAddr;
use domain::base::iana::{OptRcode, Rcode};
use node::{Statistics, Time};

/// Configuration of a forwarder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Recursive servers.
    pub servers: Vec<SocketAddr>,
    /// After this time the next server is asked.
    pub timeout: Time,
    /// Maximum number of queries for a question, at least 1.
    pub tries: u32,
    /// Whether the letters of questions get random case. Some servers do not keep it.
    pub mix_case: bool,
    /// Whether a truncated response is followed by a query over TCP; otherwise it goes to the client as it is.
    pub tcp: bool,
    /// Limits of the cache.
    pub cache: cache::Limits,
    /// Limits of the questions that wait.
    pub limits: front::Limits,
    /// AAAA records for a NAT64.
    pub dns64: Option<dns64::Config>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            servers: Vec::new(),
            timeout: Time::from_ms(800),
            tries: 5,
            mix_case: false,
            tcp: true,
            cache: cache::Limits::default(),
            limits: front::Limits::default(),
            dns64: None,
        }
    }
}

/// A search: which server is asked.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    server: usize,
    queries: u32,
    /// Servers that responded with an error.
    errors: usize,
}

/// A forwarder.
#[derive(Debug)]
pub struct Forwarder<P> {
    config: Config,
    front: Front<P, Search>,
    exchanges: Exchanges,
    /// The server that responded last.
    preferred: usize,
    response: Vec<u8>,
}

impl<P: Policy> Forwarder<P> {
    /// A forwarder with an empty cache. Ports and identifiers of queries come from the seed, which must be a secret.
    pub fn new(config: Config, policy: P, seed: u64) -> Forwarder<P> {
        Forwarder {
            front: Front::new(policy, config.limits, config.cache, config.dns64.clone()),
            exchanges: Exchanges::new(seed, config.mix_case),
            preferred: 0,
            response: Vec::new(),
            config,
        }
    }

    /// The policy.
    pub fn policy(&mut self) -> &mut P {
        &mut self.front.policy
    }

    /// Counters of queries, of the cache, and of queries to servers.
    pub fn counters(&self) -> (front::Counters, cache::Counters, exchange::Counters) {
        let cache = self.front.cache.counters();
        (self.front.counters, cache, self.exchanges.counters())
    }

    /// Memory of the cache, bytes.
    pub fn cache_bytes(&self) -> usize {
        self.front.cache.bytes()
    }

    /// Number of questions that wait.
    pub fn waiting(&self) -> usize {
        self.front.jobs.len()
    }

    /// Replaces the servers; queries under way keep theirs.
    pub fn set_servers(&mut self, servers: Vec<SocketAddr>) {
        self.config.servers = servers;
        self.preferred = 0;
    }

    /// Asks the next server after an error. When each has had one, the client gets the last.
    fn handle_error(&mut self, now: Time, ended: &Ended, is_readable: bool, send: &mut Send<'_>) {
        let Some(job) = self.front.jobs.get_mut(&ended.owner) else {
            return;
        };
        job.state.errors += 1;
        job.state.server += 1;
        let is_last = job.state.errors >= self.config.servers.len();
        if is_last && is_readable {
            self.finish(now, ended.owner, send);
        } else if is_last {
            self.front.fail(now, ended.owner, send);
        } else {
            self.ask(now, ended.owner, true, Transport::Udp, send);
        }
    }

    /// Ends a question with the response, unless a second question follows.
    fn finish(&mut self, now: Time, id: u64, send: &mut Send<'_>) {
        if self.front.complete(now, id, &self.response, send)
            && let Some(job) = self.front.jobs.get_mut(&id)
        {
            job.state = Search {
                server: self.preferred,
                ..Search::default()
            };
            self.ask(now, id, true, Transport::Udp, send);
        }
    }

    fn ask(
        &mut self,
        now: Time,
        id: u64,
        with_edns: bool,
        transport: Transport,
        send: &mut Send<'_>,
    ) {
        let Some(job) = self.front.jobs.get_mut(&id) else {
            return;
        };
        let servers = &self.config.servers;
        // A query over TCP follows one over UDP with a response, so it does not count as a try.
        let is_try = transport == Transport::Udp;
        let is_spent = is_try && job.state.queries >= self.config.tries.max(1);
        if servers.is_empty() || is_spent {
            self.front.fail(now, id, send);
            return;
        }
        job.state.queries += u32::from(is_try);
        let query = job.query();
        let request = Request {
            server: servers[job.state.server % servers.len()],
            question: query.question,
            recursion_desired: true,
            checking_disabled: query.header.cd(),
            edns: with_edns.then_some(query.dnssec_ok()),
            timeout: timeout(self.config.timeout, transport),
            transport,
        };
        let server = request.server;
        match self.exchanges.start(now, id, &request) {
            Some((via, message)) => send(Output::Query {
                server,
                via,
                message,
            }),
            None => self.front.fail(now, id, send),
        }
    }
}

impl<P: Policy> Recursive for Forwarder<P> {
    const NAME: &str = "dns-forwarder";

    fn handle_query(&mut self, now: Time, client: Client, query: &[u8], send: &mut Send<'_>) {
        let preferred = self.preferred;
        let search = || Search {
            server: preferred,
            ..Search::default()
        };
        if let Some(job) = self.front.handle_query(now, client, query, search, send) {
            self.ask(now, job, true, Transport::Udp, send);
        }
    }

    fn handle_response(
        &mut self,
        now: Time,
        from: SocketAddr,
        via: Via,
        response: &[u8],
        send: &mut Send<'_>,
    ) -> bool {
        let Some(ended) = self.exchanges.accept(from, via, response) else {
            return false;
        };
        self.response.clear();
        self.response.extend(response);
        let code = reply::strip_opt(&mut self.response);
        match code.map(|code| (code, Rcode::masked_from_int(self.response[3]))) {
            Ok((OptRcode::NOERROR | OptRcode::NXDOMAIN, _)) => {
                let is_server = |server: &SocketAddr| *server == ended.server;
                if let Some(index) = self.config.servers.iter().position(is_server) {
                    self.preferred = index;
                }
                let is_truncated = self.response[2] & 2 != 0;
                if is_truncated && self.config.tcp && ended.transport == Transport::Udp {
                    self.ask(now, ended.owner, ended.has_edns, Transport::Tcp, send);
                    return true;
                }
                self.finish(now, ended.owner, send);
            }
            // A server without EDNS (RFC 6891 section 7).
            Ok((_, Rcode::FORMERR | Rcode::NOTIMP)) if ended.has_edns => {
                self.ask(now, ended.owner, false, ended.transport, send);
            }
            result => self.handle_error(now, &ended, result.is_ok(), send),
        }
        true
    }

    fn handle_lost(&mut self, now: Time, server: SocketAddr) {
        self.exchanges.lose(now, server);
    }

    fn has_port(&self, port: u16) -> bool {
        self.exchanges.has_port(port)
    }

    fn next_wake(&self) -> Option<Time> {
        self.exchanges.next_deadline()
    }

    fn wake(&mut self, now: Time, send: &mut Send<'_>) {
        while let Some(ended) = self.exchanges.poll_timeout(now) {
            if let Some(job) = self.front.jobs.get_mut(&ended.owner) {
                job.state.server += 1;
                self.ask(now, ended.owner, true, Transport::Udp, send);
            }
        }
    }

    fn count(&self, all: &mut Statistics) {
        self.front.count(all);
        self.exchanges.count(all);
    }
}
