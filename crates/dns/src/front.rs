//! The side of a forwarder or resolver that faces clients: policy, cache, and questions that wait.
//!
//! Equal questions are merged: they wait for one response. Their number is bounded, in all and for each client.

use crate::cache::{self, Age, Cache, Cached};
use crate::dns64::{self, Detour, Verdict};
use crate::exchange::Via;
use crate::message::{Query, Question, Transport};
use crate::policy::{Decision, Policy};
use crate::reply::{self, Asked, Client};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use domain::base::iana::{Class, Rcode, Rtype};
use node::{Statistics, Time};

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// A response to a client.
    Response {
        /// The client.
        client: Client,
        /// The message.
        message: &'a [u8],
    },
    /// A query to a server.
    Query {
        /// The server.
        server: SocketAddr,
        /// Transport of the query and of its response.
        via: Via,
        /// The message.
        message: &'a [u8],
    },
}

/// Takes the messages of a call.
pub type Send<'s> = dyn FnMut(Output<'_>) + 's;

/// Limits of the questions that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of different questions that wait.
    pub questions: usize,
    /// Maximum number of queries that wait; each takes up to 500 bytes.
    pub queries: usize,
    /// Maximum number of queries of one client that wait.
    pub per_client: usize,
    /// Maximum number of queries that wait for the same response.
    pub per_question: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            questions: 1_024,
            queries: 4_096,
            per_client: 128,
            per_question: 64,
        }
    }
}

/// Counters of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queries of clients.
    pub queries: u64,
    /// Responses to clients.
    pub responses: u64,
    /// Of these, SERVFAIL because no server had a response.
    pub failures: u64,
    /// Queries that wait for the response to an earlier one.
    pub merged: u64,
    /// Questions that the policy denied.
    pub denied: u64,
    /// Queries beyond a limit, dropped; over TCP the response is SERVFAIL.
    pub overload: u64,
    /// Messages that are not queries, or of a kind that is not supported.
    pub invalid: u64,
    /// Queries without the bit RD, refused.
    pub not_recursive: u64,
    /// Questions for AAAA or PTR records that needed a second question, for DNS64.
    pub synthesised: u64,
}

/// A question that waits, with the state of its search.
#[derive(Debug)]
pub(crate) struct Job<S> {
    pub key: Arc<[u8]>,
    waiting: Vec<Asked>,
    /// Second question to the servers, if any.
    detour: Option<Detour>,
    pub state: S,
}

impl<S> Job<S> {
    /// Current query: that of the client, or the second question.
    pub fn query(&self) -> Query<'_> {
        let mut query = self.waiting[0].query();
        match &self.detour {
            Some(Detour::Address { .. }) => query.question.rtype = Rtype::A,
            Some(Detour::Reverse(name)) => query.question.name = name.for_slice(),
            None => {}
        }
        query
    }
}

/// Result of DNS64 on a response.
enum Translation {
    Same,
    Made,
    GoesOn,
}

#[derive(Debug)]
pub(crate) struct Front<P, S> {
    pub policy: P,
    pub cache: Cache,
    pub jobs: BTreeMap<u64, Job<S>>,
    by_key: BTreeMap<Arc<[u8]>, u64>,
    per_client: BTreeMap<IpAddr, usize>,
    /// Queries that wait.
    queries: usize,
    limits: Limits,
    dns64: Option<dns64::Config>,
    next_job: u64,
    pub counters: Counters,
    key: Vec<u8>,
    message: Vec<u8>,
    made: Vec<u8>,
}

impl<P: Policy, S> Front<P, S> {
    pub fn new(
        policy: P,
        limits: Limits,
        cache: cache::Limits,
        dns64: Option<dns64::Config>,
    ) -> Front<P, S> {
        Front {
            policy,
            cache: Cache::new(cache),
            jobs: BTreeMap::new(),
            by_key: BTreeMap::new(),
            per_client: BTreeMap::new(),
            queries: 0,
            limits,
            dns64,
            next_job: 0,
            counters: Counters::default(),
            key: Vec::new(),
            message: Vec::new(),
            made: Vec::new(),
        }
    }

    pub fn count(&self, all: &mut Statistics) {
        let (counters, cache) = (&self.counters, self.cache.counters());
        all.counter("queries", counters.queries);
        all.counter("responses", counters.responses);
        all.counter("failures", counters.failures);
        all.counter("merged", counters.merged);
        all.counter("denied", counters.denied);
        all.counter("too_many", counters.overload);
        all.counter("not_a_query", counters.invalid);
        all.counter("no_recursion_desired", counters.not_recursive);
        if self.dns64.is_some() {
            all.counter("dns64", counters.synthesised);
        }
        all.counter("cache_hits", cache.hits);
        all.counter("stale_hits", cache.stale);
        all.counter("cache_misses", cache.misses);
        all.counter("cache_evictions", cache.evicted);
    }

    /// Takes a query: responds, or makes it wait. Gives a new job, which has no state yet.
    pub fn handle_query(
        &mut self,
        now: Time,
        client: Client,
        bytes: &[u8],
        state: impl FnOnce() -> S,
        send: &mut Send<'_>,
    ) -> Option<u64> {
        let query = match Query::read(bytes) {
            Ok(query) => query.over(client.transport),
            Err(invalid) => {
                self.counters.invalid += 1;
                if reply::write_invalid(bytes, invalid, &mut self.message) {
                    self.send(client, send);
                }
                return None;
            }
        };
        self.counters.queries += 1;
        let question = query.question;
        let code = match self.policy.decide(now, &client, &question) {
            Decision::Permit if is_transfer(question.rtype) => {
                self.counters.invalid += 1;
                Rcode::NOTIMP
            }
            Decision::Permit if !query.header.rd() => {
                self.counters.not_recursive += 1;
                Rcode::REFUSED
            }
            Decision::Permit => return self.look_up(now, client, bytes, &query, state, send),
            denied => {
                self.counters.denied += 1;
                match denied {
                    Decision::Ignore => return None,
                    Decision::Address(address) => {
                        reply::write_address(&query, address, &mut self.message);
                        self.send(client, send);
                        return None;
                    }
                    Decision::NoSuchName => Rcode::NXDOMAIN,
                    _ => Rcode::REFUSED,
                }
            }
        };
        reply::write_code(&query, code, &mut self.message);
        self.send(client, send);
        None
    }

    fn look_up(
        &mut self,
        now: Time,
        client: Client,
        bytes: &[u8],
        query: &Query<'_>,
        state: impl FnOnce() -> S,
        send: &mut Send<'_>,
    ) -> Option<u64> {
        cache::key(
            &query.question,
            query.dnssec_ok(),
            query.header.cd(),
            &mut self.key,
        );
        if let Some(cached) = self.cache.get(now, &self.key) {
            write_cached(query, Some(cached), &mut self.message);
            self.counters.failures += u64::from(cached.response.is_none());
            self.policy
                .answered(now, &client, &query.question, &self.message);
            self.send(client, send);
            return None;
        }
        let running = self.by_key.get(&*self.key).copied();
        let waiting = running.map(|job| &mut self.jobs.get_mut(&job).expect("indexed").waiting);
        if let Some(waiting) = &waiting {
            let is_again = |asked: &&Asked| {
                asked.client == client && asked.query().header.id() == query.header.id()
            };
            if waiting.iter().any(|asked| is_again(&asked)) {
                self.counters.merged += 1;
                return None;
            }
        }
        let of_client = self
            .per_client
            .get(&client.address.ip())
            .copied()
            .unwrap_or(0);
        let is_full = match &waiting {
            Some(waiting) => waiting.len() >= self.limits.per_question,
            None => self.by_key.len() >= self.limits.questions,
        };
        let is_full = is_full || self.queries >= self.limits.queries;
        if is_full || of_client >= self.limits.per_client {
            self.counters.overload += 1;
            if client.transport == Transport::Tcp {
                reply::write_code(query, Rcode::SERVFAIL, &mut self.message);
                self.send(client, send);
            }
            return None;
        }
        self.per_client.insert(client.address.ip(), of_client + 1);
        self.queries += 1;
        let asked = Asked::new(client, bytes, query);
        if let Some(waiting) = waiting {
            self.counters.merged += 1;
            waiting.push(asked);
            return None;
        }
        let (id, key) = (self.next_job, Arc::<[u8]>::from(&*self.key));
        self.next_job += 1;
        self.by_key.insert(key.clone(), id);
        let waiting = alloc::vec![asked];
        let state = state();
        let dns64 = self.dns64.as_ref();
        let detour = dns64.and_then(|dns64| dns64.reverse(&query.question));
        self.counters.synthesised += u64::from(detour.is_some());
        self.jobs.insert(
            id,
            Job {
                key,
                waiting,
                detour,
                state,
            },
        );
        Some(id)
    }

    fn send(&mut self, client: Client, send: &mut Send<'_>) {
        self.counters.responses += 1;
        let message = &self.message;
        send(Output::Response { client, message });
    }

    fn remove(&mut self, job: u64) -> Option<Job<S>> {
        let job = self.jobs.remove(&job)?;
        self.by_key.remove(&job.key);
        self.queries -= job.waiting.len();
        for asked in &job.waiting {
            let client = asked.client.address.ip();
            match self.per_client.get_mut(&client) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.per_client.remove(&client)),
            }
        }
        Some(job)
    }

    /// Ends a job with a response, without its OPT record. Returns `true` if the job continues with another [query](Job::query).
    pub fn complete(&mut self, now: Time, id: u64, response: &[u8], send: &mut Send<'_>) -> bool {
        let mut made = core::mem::take(&mut self.made);
        let response = match self.translate(id, response, &mut made) {
            Translation::Same => response,
            Translation::Made => made.as_slice(),
            Translation::GoesOn => {
                self.made = made;
                return true;
            }
        };
        self.end(now, id, response, send);
        self.made = made;
        false
    }

    /// Applies DNS64 to a response: writes `made`, or sets a second question for the job.
    fn translate(&mut self, id: u64, response: &[u8], made: &mut Vec<u8>) -> Translation {
        let (Some(dns64), Some(job)) = (&self.dns64, self.jobs.get_mut(&id)) else {
            return Translation::Same;
        };
        let query = job.waiting[0].query();
        let question = query.question;
        if let Some(detour) = &job.detour {
            dns64.synthesise(&question, detour, response, made);
            return Translation::Made;
        }
        let is_validated = query.dnssec_ok() && query.header.cd();
        if question.rtype != Rtype::AAAA || question.class != Class::IN || is_validated {
            return Translation::Same;
        }
        match dns64.judge(response) {
            Verdict::Keep => Translation::Same,
            Verdict::Filter => {
                dns64.filter(&question, response, made);
                Translation::Made
            }
            Verdict::Detour(detour) => {
                self.counters.synthesised += 1;
                job.detour = Some(detour);
                Translation::GoesOn
            }
        }
    }

    fn end(&mut self, now: Time, id: u64, response: &[u8], send: &mut Send<'_>) {
        let Some(job) = self.remove(id) else {
            return;
        };
        self.cache.put(now, &job.key, response);
        let len = job.waiting[0].query().question.wire_len();
        // An error may come without the question.
        let has_question =
            Question::read(response).is_some_and(|question| question.wire_len() == len);
        for asked in &job.waiting {
            let query = asked.query();
            match has_question {
                true => reply::write(&query, response, Age::Seconds(0), &mut self.message),
                false => {
                    let code = Rcode::masked_from_int(response[3]);
                    reply::write_code(&query, code, &mut self.message);
                }
            }
            self.policy
                .answered(now, &asked.client, &query.question, &self.message);
            self.send(asked.client, send);
        }
    }

    /// Ends a job without a response: from the cache if an old one may be given out, else with SERVFAIL.
    pub fn fail(&mut self, now: Time, job: u64, send: &mut Send<'_>) {
        let Some(job) = self.remove(job) else {
            return;
        };
        for asked in &job.waiting {
            let query = asked.query();
            let old = self.cache.fail(now, &job.key);
            self.counters.failures += u64::from(old.is_none());
            write_cached(&query, old, &mut self.message);
            self.policy
                .answered(now, &asked.client, &query.question, &self.message);
            self.send(asked.client, send);
        }
    }
}

fn write_cached(query: &Query<'_>, cached: Option<Cached<'_>>, out: &mut Vec<u8>) {
    let found = cached.and_then(|cached| Some((cached.response?, cached.age)));
    match found {
        Some((response, age)) => reply::write(query, response, age, out),
        None => reply::write_code(query, Rcode::SERVFAIL, out),
    }
}

/// Whether a type requests a zone, which only an authoritative server has.
fn is_transfer(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::AXFR | Rtype::IXFR)
}
