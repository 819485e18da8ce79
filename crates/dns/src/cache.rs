//! Cache of responses, positive and negative (RFC 2308), with bounded memory.
//!
//! An entry is a whole response, as a server sent it, without its OPT record. It is given out with the TTLs lowered by its
//! age, rounded up: no record lives longer than its TTL. The entry used least recently gives way to a new one.

use crate::lru::Lru;
use crate::message::{self, Question};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use domain::base::iana::{Rcode, Rtype};
use domain::base::message::Section;
use node::Time;

/// Memory of an entry apart from key and response, bytes: slot, index and allocations, rounded up.
const OVERHEAD: usize = 200;
/// TTL of stale records that are given out (RFC 8767 section 4), seconds.
const STALE_TTL: u32 = 30;
/// How long a question whose servers failed is not asked again (RFC 8767 section 5, RFC 9520 section 3.2).
const FAILURE_PAUSE: Time = Time::from_secs(5);
/// Upper limit of the TTL of negative responses, seconds (RFC 2308 section 5).
const MAX_NEGATIVE_TTL: u32 = 10_800;

/// Limits of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum memory, bytes.
    pub bytes: usize,
    /// Upper limit of TTLs, seconds.
    pub max_ttl: u32,
    /// How long after its TTL a response may be given out when all servers fail (RFC 8767); zero: not.
    pub stale: Time,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes: 4 << 20,
            max_ttl: 86_400,
            stale: Time::ZERO,
        }
    }
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Responses from the cache.
    pub hits: u64,
    /// Of these, those after their TTL.
    pub stale: u64,
    /// Questions that were not in the cache.
    pub misses: u64,
    /// Entries that gave way to others.
    pub evicted: u64,
}

#[derive(Debug)]
struct Entry {
    /// `None`: all servers failed, and there is no old response.
    response: Option<Box<[u8]>>,
    stored: Time,
    /// End of the shortest TTL.
    expires: Time,
    /// Until when servers that failed are left alone.
    pause: Time,
}

/// A response that may be given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached<'a> {
    /// The response; `None`: the servers failed a short time ago.
    pub response: Option<&'a [u8]>,
    /// Its TTLs.
    pub age: Age,
}

/// Change of TTLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Lowered by this number of seconds.
    Seconds(u32),
    /// All 30 seconds.
    Stale,
}

impl Age {
    /// A TTL after the change, seconds.
    pub fn apply(self, ttl: u32) -> u32 {
        match self {
            Age::Seconds(age) => ttl.saturating_sub(age),
            Age::Stale => STALE_TTL,
        }
    }
}

/// Key of a question.
///
/// DO and CD are in it: responses to questions that differ in them are not the same (RFC 4035 section 4.7).
pub fn key(question: &Question<'_>, dnssec_ok: bool, checking_disabled: bool, out: &mut Vec<u8>) {
    out.clear();
    out.extend(question.rtype.to_int().to_be_bytes());
    out.extend(question.class.to_int().to_be_bytes());
    out.push(u8::from(dnssec_ok) | u8::from(checking_disabled) << 1);
    crate::name::write_lower(question.name, out);
}

/// A cache.
#[derive(Debug)]
pub struct Cache {
    entries: Lru<Arc<[u8]>, Entry>,
    bytes: usize,
    limits: Limits,
    counters: Counters,
}

impl Cache {
    /// An empty cache.
    pub fn new(limits: Limits) -> Cache {
        Cache {
            entries: Lru::default(),
            bytes: 0,
            limits,
            counters: Counters::default(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The response to the question with a key, if it may be given out without asking.
    pub fn get(&mut self, now: Time, key: &[u8]) -> Option<Cached<'_>> {
        let limits = self.limits;
        let entry = self.entries.get(key);
        let found = entry.and_then(|entry| entry.give(now, limits, false));
        match found {
            Some(cached) => {
                self.counters.hits += 1;
                self.counters.stale += u64::from(cached.age == Age::Stale);
            }
            None => self.counters.misses += 1,
        }
        found
    }

    /// A response that is in the cache and within its TTL, for an own purpose: not counted.
    pub fn peek(&mut self, now: Time, key: &[u8]) -> Option<&[u8]> {
        let entry = self.entries.get(key)?;
        entry.response.as_deref().filter(|_| now < entry.expires)
    }

    /// Remembers that all servers failed. Gives an old response, if there is one and it may be given out.
    pub fn fail(&mut self, now: Time, key: &Arc<[u8]>) -> Option<Cached<'_>> {
        let limits = self.limits;
        if self.entries.get(&**key).is_none() {
            let entry = Entry {
                response: None,
                stored: now,
                expires: now,
                pause: now,
            };
            self.insert(key, entry);
        }
        let entry = self.entries.get(&**key)?;
        entry.pause = now + FAILURE_PAUSE;
        let old = entry.give(now, limits, true);
        let old = old.filter(|old| old.response.is_some())?;
        self.counters.stale += 1;
        Some(old)
    }

    /// Keeps a response without an OPT record, if it may be kept at all. The caller has checked that it is the response to the
    /// question with this key.
    pub fn put(&mut self, now: Time, key: &Arc<[u8]>, response: &[u8]) {
        let lifetime = lifetime(response).unwrap_or(0).min(self.limits.max_ttl);
        if lifetime == 0 {
            return;
        }
        let entry = Entry {
            response: Some(response.into()),
            stored: now,
            expires: now + Time::from_secs(lifetime.into()),
            pause: Time::ZERO,
        };
        self.insert(key, entry);
    }

    fn insert(&mut self, key: &Arc<[u8]>, entry: Entry) {
        let cost = |entry: &Entry| {
            let response = entry.response.as_ref();
            key.len() + response.map_or(0, |response| response.len()) + OVERHEAD
        };
        let new = cost(&entry);
        if new > self.limits.bytes {
            return;
        }
        self.bytes += new;
        if let Some(old) = self.entries.insert(key.clone(), entry) {
            self.bytes -= cost(&old);
        }
        while self.bytes > self.limits.bytes
            && let Some((key, entry)) = self.entries.pop_oldest()
        {
            let response = entry.response.as_ref();
            self.bytes -= key.len() + response.map_or(0, |response| response.len()) + OVERHEAD;
            self.counters.evicted += 1;
        }
    }
}

impl Entry {
    fn give(&self, now: Time, limits: Limits, has_failed: bool) -> Option<Cached<'_>> {
        let response = self.response.as_deref();
        if now < self.expires {
            let age = (now - self.stored).as_ps();
            let age = age.div_ceil(Time::from_secs(1).as_ps());
            return Some(Cached {
                response,
                age: Age::Seconds(age as u32),
            });
        }
        let is_paused = now < self.pause || has_failed;
        let may_be_stale = now < self.expires + limits.stale;
        is_paused.then_some(Cached {
            response: response.filter(|_| may_be_stale),
            age: Age::Stale,
        })
    }
}

/// How long a response may be kept, seconds: the shortest TTL of its records, and for a negative one the minimum of its SOA
/// record (RFC 2308 section 5). `None`: not at all, as it is truncated, an error, negative without a SOA record, or broken.
pub fn lifetime(response: &[u8]) -> Option<u32> {
    let header = domain::base::Message::from_slice(response).ok()?.header();
    let question = Question::read(response)?;
    let code = header.rcode();
    if header.tc() || !matches!(code, Rcode::NOERROR | Rcode::NXDOMAIN) {
        return None;
    }
    let (mut lifetime, mut soa, mut is_positive) = (u32::MAX, None, false);
    for place in message::records(response) {
        let place = place.ok()?;
        lifetime = lifetime.min(place.lifetime());
        let is_answer = place.section == Section::Answer;
        is_positive |= is_answer
            && matches!(question.rtype, rtype if rtype == place.rtype || rtype == Rtype::ANY);
        if place.section == Section::Authority && place.rtype == Rtype::SOA {
            let minimum = response[place.data].last_chunk::<4>()?;
            let minimum = u32::from_be_bytes(*minimum).min(MAX_NEGATIVE_TTL);
            soa = Some(minimum);
        }
    }
    if is_positive && code == Rcode::NOERROR {
        return Some(lifetime);
    }
    soa.map(|minimum| lifetime.min(minimum))
}
