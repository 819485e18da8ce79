//! Iterative resolver: questions of clients are answered by the servers of zones, from the root down (RFC 1034 section 5.3.3).
//!
//! - **Responses** come from servers that another zone has named, see [`exchange`]; only records in the zone of
//!   the server count.
//! - **Privacy:** with `minimise` a server sees no more of a name than it needs (RFC 9156).
//! - **Work** for a question is bounded: `max_queries` in all, `max_searches` searches for addresses of servers for each
//!   delegation (NXNSAttack), `max_depth` searches within each other, 12 aliases, 30 referrals, `max_time`. A question that
//!   has reached a limit fails.
//! - **DNSSEC** records are passed through for clients that validate, as of [`forwarder`](crate::forwarder). Nothing is
//!   validated here.
//!
//! After a truncated response the same server is asked once more, over TCP. There is no priming query: the servers of the root are those of the configuration.

mod delegation;
mod response;
mod task;

use crate::build;
use crate::cache;
use crate::dns64;
use crate::exchange::{self, Ended, Exchanges, Request, Via, timeout};
use crate::front::{self, Front, Output, Send};
use crate::lru::Lru;
use crate::message::{OwnedRecord, Question, Transport, addresses};
use crate::name::OwnedName;
use crate::policy::Policy;
use crate::recursive::Recursive;
use crate::reply::Client;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use delegation::{Delegations, MAX_ADDRESSES, is_usable};
use domain::base::iana::{Class, Rcode, Rtype};
use node::{Statistics, Time};
use response::Meaning;
use task::{Goal, Step, Task};

/// Maximum number of aliases of a question.
const MAX_ALIASES: usize = 12;
/// Maximum number of referrals of a search.
const MAX_REFERRALS: usize = 30;
/// How long a server that did not respond is asked last.
const SLOW: Time = Time::from_secs(60);
/// Maximum number of servers that are known to be slow.
const MAX_SLOW: usize = 4_096;

/// The servers of the root zone, in 2024 (IANA, root hints).
pub const ROOTS: [IpAddr; 13] = {
    const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
        IpAddr::V4(core::net::Ipv4Addr::new(a, b, c, d))
    }
    [
        v4(198, 41, 0, 4),
        v4(170, 247, 170, 2),
        v4(192, 33, 4, 12),
        v4(199, 7, 91, 13),
        v4(192, 203, 230, 10),
        v4(192, 5, 5, 241),
        v4(192, 112, 36, 4),
        v4(198, 97, 190, 53),
        v4(192, 36, 148, 17),
        v4(192, 58, 128, 30),
        v4(193, 0, 14, 129),
        v4(199, 7, 83, 42),
        v4(202, 12, 27, 33),
    ]
};

/// Configuration of a resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Servers of the root zone.
    pub roots: Vec<SocketAddr>,
    /// Whether servers see no more of a name than they need.
    pub minimise: bool,
    /// Whether servers are asked by IPv6, too.
    pub ipv6: bool,
    /// After this time without a response another server is asked.
    pub timeout: Time,
    /// After this time a question fails.
    pub max_time: Time,
    /// Maximum number of queries for a question.
    pub max_queries: u32,
    /// Maximum number of servers of a delegation whose addresses are searched.
    pub max_searches: usize,
    /// Maximum number of searches within each other.
    pub max_depth: usize,
    /// Whether the letters of questions get random case.
    pub mix_case: bool,
    /// Limits of the cache.
    pub cache: cache::Limits,
    /// Limits of the questions that wait.
    pub limits: front::Limits,
    /// AAAA records for a NAT64.
    pub dns64: Option<dns64::Config>,
}

impl Default for Config {
    fn default() -> Config {
        let roots = ROOTS.into_iter().map(|root| SocketAddr::new(root, 53));
        Config {
            roots: roots.collect(),
            minimise: true,
            ipv6: false,
            timeout: Time::from_ms(800),
            max_time: Time::from_secs(12),
            max_queries: 50,
            max_searches: 3,
            max_depth: 4,
            mix_case: false,
            cache: cache::Limits::default(),
            limits: front::Limits::default(),
            dns64: None,
        }
    }
}

/// Counters of searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Searches that ended at a limit of work.
    pub limited: u64,
    /// Responses of servers that are not servers of the zone, or report an error.
    pub lame: u64,
    /// Delegations that were followed.
    pub referrals: u64,
}

/// The work for a client's question.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    queries: u32,
}

/// A resolver.
#[derive(Debug)]
pub struct Resolver<P> {
    config: Config,
    front: Front<P, Work>,
    exchanges: Exchanges,
    delegations: Delegations,
    tasks: BTreeMap<u64, Task>,
    next_task: u64,
    slow: Lru<SocketAddr, Time>,
    counters: Counters,
    message: Vec<u8>,
}

impl<P: Policy> Resolver<P> {
    /// A resolver with an empty cache. Ports and identifiers of queries come from the seed, which must be a secret.
    pub fn new(config: Config, policy: P, seed: u64) -> Resolver<P> {
        Resolver {
            front: Front::new(policy, config.limits, config.cache, config.dns64.clone()),
            exchanges: Exchanges::new(seed, config.mix_case),
            delegations: Delegations::new(config.roots.clone()),
            tasks: BTreeMap::new(),
            next_task: 0,
            slow: Lru::default(),
            counters: Counters::default(),
            message: Vec::new(),
            config,
        }
    }

    /// The policy.
    pub fn policy(&mut self) -> &mut P {
        &mut self.front.policy
    }

    /// Counters of queries, of queries to servers, and of searches.
    pub fn counters(&self) -> (front::Counters, exchange::Counters, Counters) {
        (
            self.front.counters,
            self.exchanges.counters(),
            self.counters,
        )
    }

    /// Number of questions that wait.
    pub fn waiting(&self) -> usize {
        self.front.jobs.len()
    }

    /// Number of searches that run.
    pub fn searches(&self) -> usize {
        self.tasks.len()
    }

    /// Begins the search for a client's question.
    fn start(&mut self, now: Time, job: u64, send: &mut Send<'_>) {
        let query = self.front.jobs[&job].query();
        let Question { name, rtype, .. } = query.question;
        let name = OwnedName::from_octets(name.as_slice().to_vec()).expect("a name");
        let mut task = Task::new(Goal::Client, job, 0, name, rtype);
        task.dnssec_ok = query.dnssec_ok();
        task.checking_disabled = query.header.cd();
        task.begun = now;
        self.begin(now, task, send);
    }

    fn begin(&mut self, now: Time, mut task: Task, send: &mut Send<'_>) {
        let id = self.next_task;
        self.next_task += 1;
        self.enter_closest(now, &mut task);
        self.tasks.insert(id, task);
        self.advance(now, id, send);
    }

    fn enter_closest(&mut self, now: Time, task: &mut Task) {
        let zone = self.delegations.find(now, &task.key, task.max_zone_labels);
        task.enter(zone, self.config.minimise);
    }

    /// Makes the next step of a search.
    fn advance(&mut self, now: Time, id: u64, send: &mut Send<'_>) {
        loop {
            let Some(task) = self.tasks.get_mut(&id) else {
                return;
            };
            let Some(job) = self.front.jobs.get_mut(&task.job) else {
                self.tasks.remove(&id);
                return;
            };
            let is_spent = job.state.queries >= self.config.max_queries
                || now >= task.begun + self.config.max_time
                || task.aliases > MAX_ALIASES
                || task.referrals > MAX_REFERRALS;
            if is_spent {
                self.counters.limited += 1;
                return self.fail(now, id, send);
            }
            let slow = &self.slow;
            let is_slow = |server: SocketAddr| slow.peek(&server).is_some_and(|until| now < *until);
            let step = task.step(self.exchanges.random(), self.config.max_searches, is_slow);
            match step {
                // Servers that respond to whole names only (RFC 9156 section 3).
                Step::Fail if !task.is_whole() => task.lengthen(true),
                Step::Fail => return self.fail(now, id, send),
                Step::Ask(server, transport) => {
                    job.state.queries += 1;
                    let (name, rtype) = task.question();
                    let request = Request {
                        server,
                        question: Question {
                            name: name.for_slice(),
                            rtype,
                            class: Class::IN,
                        },
                        recursion_desired: task.accepts_doubtful,
                        checking_disabled: task.checking_disabled,
                        edns: (!task.without_edns).then_some(task.dnssec_ok),
                        timeout: timeout(self.config.timeout, transport),
                        transport,
                    };
                    match self.exchanges.start(now, id, &request) {
                        Some((via, message)) => send(Output::Query {
                            server,
                            via,
                            message,
                        }),
                        None => self.fail(now, id, send),
                    }
                    return;
                }
                Step::Search(server) => {
                    if let Some(child) = self.search_address(now, id, &server) {
                        return self.begin(now, child, send);
                    }
                }
            }
        }
    }

    /// The search for a server's address; `None` when that is in the cache, or the search would wait for itself.
    fn search_address(&mut self, now: Time, id: u64, server: &OwnedName) -> Option<Task> {
        let task = self.tasks.get(&id)?;
        let (job, depth, begun) = (task.job, task.depth + 1, task.begun);
        let (zone, labels) = (task.zone_key().to_vec(), task.zone.labels);
        let rtype = Rtype::A;
        let question = Question {
            name: server.for_slice(),
            rtype,
            class: Class::IN,
        };
        let mut key = Vec::new();
        cache::key(&question, false, false, &mut key);
        if let Some(response) = self.front.cache.peek(now, &key) {
            let found = usable(response, self.config.ipv6);
            let task = self.tasks.get_mut(&id)?;
            task.add_addresses(server, &found);
            return None;
        }
        let mut above = Some(id);
        while let Some(task) = above.and_then(|id| self.tasks.get(&id)) {
            if task.name == *server && task.rtype == rtype {
                return None;
            }
            above = match &task.goal {
                Goal::Address { parent, .. } => Some(*parent),
                Goal::Client => None,
            };
        }
        if depth > self.config.max_depth {
            self.counters.limited += 1;
            return None;
        }
        let goal = Goal::Address {
            parent: id,
            server: server.clone(),
        };
        let mut child = Task::new(goal, job, depth, server.clone(), rtype);
        child.begun = begun;
        if child.key.as_slice().starts_with(zone.as_slice()) {
            // Its own zone cannot be asked: it has no glue, and the parent's servers may know the address.
            child.max_zone_labels = labels.saturating_sub(1);
        }
        Some(child)
    }

    fn digest(&mut self, now: Time, ended: &Ended, bytes: &[u8], send: &mut Send<'_>) {
        let id = ended.owner;
        let Some(task) = self.tasks.get_mut(&id) else {
            return;
        };
        let meaning = response::read(task, bytes, ended.has_edns, self.config.ipv6);
        match meaning {
            Meaning::Truncated if ended.transport == Transport::Udp => {
                task.ask_by_tcp(ended.server);
            }
            Meaning::End(code, mut answer, authority) => {
                let mut all = core::mem::take(&mut task.answer);
                all.append(&mut answer);
                return self.finish(now, id, code, false, &all, &authority, send);
            }
            Meaning::Truncated => {
                return self.finish(now, id, Rcode::NOERROR, true, &[], &[], send);
            }
            Meaning::Alias(mut answer, name) => {
                task.answer.append(&mut answer);
                let is_loop = |record: &OwnedRecord| {
                    record.rtype() == Rtype::CNAME && *record.owner() == name
                };
                if task.answer.iter().any(is_loop) {
                    let all = core::mem::take(&mut task.answer);
                    return self.finish(now, id, Rcode::NOERROR, false, &all, &[], send);
                }
                task.rename(name);
                if let Some(mut task) = self.tasks.remove(&id) {
                    self.enter_closest(now, &mut task);
                    self.tasks.insert(id, task);
                }
            }
            Meaning::Referral(mut zone, ttl) => {
                self.counters.referrals += 1;
                task.referrals += 1;
                zone.expires = delegation::end(now, ttl, task.zone.expires);
                let key = task.key.ancestor(zone.labels);
                self.delegations.put(key, zone.clone());
                task.enter(zone, self.config.minimise);
            }
            Meaning::Longer { whole } => {
                task.lengthen(whole);
            }
            Meaning::Lame => {
                self.counters.lame += 1;
                task.exclude(ended.server);
            }
            Meaning::Doubtful => {
                self.counters.lame += 1;
                task.exclude_doubtful(ended.server);
            }
            Meaning::NoEdns => {
                task.without_edns = true;
                task.forgive(ended.server);
            }
        }
        self.advance(now, id, send);
    }

    /// Ends a search with a result.
    #[expect(clippy::too_many_arguments, reason = "the parts of a response")]
    fn finish(
        &mut self,
        now: Time,
        id: u64,
        code: Rcode,
        is_truncated: bool,
        answer: &[OwnedRecord],
        authority: &[OwnedRecord],
        send: &mut Send<'_>,
    ) {
        let Some(task) = self.tasks.remove(&id) else {
            return;
        };
        match task.goal {
            Goal::Client => {
                let Some(job) = self.front.jobs.get(&task.job) else {
                    return;
                };
                let question = job.query();
                build::response(
                    &question.question,
                    code,
                    is_truncated,
                    answer,
                    authority,
                    &mut self.message,
                );
                if self.front.complete(now, task.job, &self.message, send) {
                    self.start(now, task.job, send);
                }
            }
            Goal::Address { parent, server } => {
                let question = Question {
                    name: server.for_slice(),
                    rtype: task.rtype,
                    class: Class::IN,
                };
                build::response(
                    &question,
                    code,
                    is_truncated,
                    answer,
                    authority,
                    &mut self.message,
                );
                let mut key = Vec::new();
                cache::key(&question, false, false, &mut key);
                self.front.cache.put(now, &key.into(), &self.message);
                let found = usable(&self.message, self.config.ipv6);
                if let Some(parent) = self.tasks.get_mut(&parent) {
                    let zone = parent.zone_key().to_vec();
                    parent.add_addresses(&server, &found);
                    self.delegations.add_addresses(&zone, &server, &found);
                }
                self.advance(now, parent, send);
            }
        }
    }

    fn fail(&mut self, now: Time, id: u64, send: &mut Send<'_>) {
        let Some(task) = self.tasks.remove(&id) else {
            return;
        };
        match task.goal {
            Goal::Client => self.front.fail(now, task.job, send),
            Goal::Address { parent, .. } => self.advance(now, parent, send),
        }
    }
}

impl<P: Policy> Recursive for Resolver<P> {
    const NAME: &str = "dns-resolver";

    fn handle_query(&mut self, now: Time, client: Client, query: &[u8], send: &mut Send<'_>) {
        let Some(job) = self
            .front
            .handle_query(now, client, query, Work::default, send)
        else {
            return;
        };
        let query = self.front.jobs[&job].query();
        if query.question.class != Class::IN {
            build::response(
                &query.question,
                Rcode::REFUSED,
                false,
                &[],
                &[],
                &mut self.message,
            );
            self.front.complete(now, job, &self.message, send);
            return;
        }
        self.start(now, job, send);
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
        self.slow.remove(&ended.server);
        self.digest(now, &ended, response, send);
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
            self.slow.insert(ended.server, now + SLOW);
            if self.slow.len() > MAX_SLOW {
                self.slow.pop_oldest();
            }
            self.advance(now, ended.owner, send);
        }
    }

    fn count(&self, all: &mut Statistics) {
        self.front.count(all);
        self.exchanges.count(all);
        all.counter("limited", self.counters.limited);
        all.counter("lame", self.counters.lame);
        all.counter("referrals", self.counters.referrals);
        all.counter("delegations", self.delegations.len() as u64);
    }
}

/// The addresses in a response that queries may go to.
fn usable(response: &[u8], with_v6: bool) -> Vec<SocketAddr> {
    let all = addresses(response).map(|(_, address, _)| address);
    let all = all.filter(|address| is_usable(*address, with_v6));
    all.map(|address| SocketAddr::new(address, 53))
        .take(MAX_ADDRESSES)
        .collect()
}
