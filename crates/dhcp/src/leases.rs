//! Leases of addresses and prefixes, of both versions: who has which until when.
//!
//! Addresses are numbers of up to 128 bits. A client is a key: bytes that the server makes of the link and the client's
//! identifier. A key has one lease at most, an address belongs to one key at most.
//!
//! Costs of a flood: each entry takes less than 200 bytes and the key's bytes; there are never more than
//! [`Limits::leases`] entries, of which [`Limits::offers`] are offers. A new offer takes the place of the oldest one.

mod range;
mod refusal;

pub use range::Range;
pub use refusal::Refusal;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use node::Time;
use node::random::split_mix;

/// Maximum number of ranges with more than one address.
const MAX_RANGES: usize = 1024;
/// Number of addresses after the client's own place in a range that are tried before the next unused one.
const PLACES: u128 = 4;

/// State of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Offered, and not yet requested.
    Offered,
    /// The client has the address.
    Bound,
    /// The client found that another host has the address.
    Declined,
    /// Expired or released; the client gets the address again as long as no other one needs it.
    Ended,
}

/// A lease.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The address, or the first one of the prefix.
    pub address: u128,
    /// The client.
    pub key: Arc<[u8]>,
    /// The port or relay circuit by which the client came.
    pub circuit: Arc<[u8]>,
    /// Its state.
    pub state: State,
    /// Time at which the state ends, or has ended.
    pub end: Time,
    range: Option<Range>,
}

/// Limits of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of entries: leases, offers, declined addresses, and ended leases that are remembered.
    pub leases: usize,
    /// Maximum number of offers at a time.
    pub offers: usize,
    /// Maximum number of leases, offers and declined addresses of one port or relay circuit.
    pub circuit: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            leases: 65_536,
            offers: 1_024,
            circuit: usize::MAX,
        }
    }
}

/// Unused and ended addresses of a range.
#[derive(Debug, Default)]
struct Free {
    /// No unused address has a lower index.
    next: u128,
    ended: BTreeSet<(Time, u128)>,
}

/// The table. See the [module](self).
#[derive(Debug, Default)]
pub struct Leases {
    limits: Limits,
    entries: BTreeMap<u128, Lease>,
    clients: BTreeMap<Arc<[u8]>, u128>,
    circuits: BTreeMap<Arc<[u8]>, usize>,
    offers: BTreeSet<(Time, u128)>,
    /// Bound and declined ones by their ends.
    bound: BTreeSet<(Time, u128)>,
    ranges: BTreeMap<Range, Free>,
    /// Ended ones that are of no range.
    loose: BTreeSet<(Time, u128)>,
}

impl Leases {
    /// An empty table.
    pub fn new(limits: Limits) -> Leases {
        Leases {
            limits,
            ..Leases::default()
        }
    }

    /// Number of entries, with ended leases.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of offers.
    pub fn offers(&self) -> usize {
        self.offers.len()
    }

    /// Number of bound leases and declined addresses.
    pub fn bound(&self) -> usize {
        self.bound.len()
    }

    /// All entries, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.entries.values()
    }

    /// The entry of an address.
    pub fn get(&self, address: u128) -> Option<&Lease> {
        self.entries.get(&address)
    }

    /// The lease of a client.
    pub fn find(&self, key: &[u8]) -> Option<&Lease> {
        self.entries.get(self.clients.get(key)?)
    }

    /// Time at which the next offer or lease ends.
    pub fn next_end(&self) -> Option<Time> {
        let ends = [self.offers.first(), self.bound.first()];
        let ends = ends.into_iter().flatten().map(|(end, _)| *end);
        ends.min().filter(|end| *end < Time::MAX)
    }

    /// Ends a lease or an offer whose time is over by `now`, and returns it with its last state; `None` when there is none.
    pub fn expire(&mut self, now: Time) -> Option<Lease> {
        let ends = [self.offers.first(), self.bound.first()];
        let (end, address) = *ends.into_iter().flatten().min()?;
        (end <= now).then(|| self.finish(address, end))?
    }

    /// Gives a client an address of `ranges`, and holds it until `until`: the one it has or had; else `wanted`; else an
    /// unused one; else the one that ended first; else that of the oldest offer.
    ///
    /// # Errors
    /// When there is none, or a limit is reached.
    pub fn offer(
        &mut self,
        key: &[u8],
        circuit: &[u8],
        ranges: &[Range],
        wanted: Option<u128>,
        until: Time,
    ) -> Result<u128, Refusal> {
        let (address, range) = self.choose(key, ranges, wanted)?;
        let current = self.entries.get(&address);
        if current.is_some_and(|lease| lease.state == State::Bound && *lease.key == *key) {
            return Ok(address);
        }
        while self.offers.len() >= self.limits.offers.max(1) && self.end_oldest_offer(|_| true) {}
        self.set(key, circuit, (address, range), State::Offered, until)?;
        Ok(address)
    }

    /// Binds an address of `ranges` to a client until `until`.
    ///
    /// # Errors
    /// When the address is not of the ranges or another client has it, or a limit is reached.
    pub fn bind(
        &mut self,
        key: &[u8],
        circuit: &[u8],
        ranges: &[Range],
        address: u128,
        until: Time,
    ) -> Result<(), Refusal> {
        let range = ranges.iter().find(|range| range.contains(address));
        let range = range.ok_or(Refusal::Taken)?;
        if !self.is_free(address, key) {
            return Err(Refusal::Taken);
        }
        self.set(key, circuit, (address, *range), State::Bound, until)
    }

    /// Ends the lease or offer of a client; returns it, with the state that it had.
    pub fn release(&mut self, now: Time, key: &[u8]) -> Option<Lease> {
        let address = *self.clients.get(key)?;
        let state = self.entries.get(&address)?.state;
        matches!(state, State::Offered | State::Bound).then(|| self.finish(address, now))?
    }

    /// Keeps the address of a client from everyone until `until`, as another host has it; returns the lease that it had.
    pub fn decline(&mut self, key: &[u8], address: u128, until: Time) -> Option<Lease> {
        let lease = self.entries.get(&address)?;
        let own = *lease.key == *key && matches!(lease.state, State::Offered | State::Bound);
        if !own {
            return None;
        }
        let was = lease.clone();
        self.unlist(address);
        self.clients.remove(key);
        // A declined address stays charged to its circuit.
        *self.circuits.entry(was.circuit.clone()).or_default() += 1;
        let lease = self.entries.get_mut(&address)?;
        (lease.state, lease.end) = (State::Declined, until);
        self.bound.insert((until, address));
        Some(was)
    }

    /// Whether a client may have an address now.
    fn is_free(&self, address: u128, key: &[u8]) -> bool {
        self.entries
            .get(&address)
            .is_none_or(|lease| match lease.state {
                State::Ended => true,
                State::Declined => false,
                State::Offered | State::Bound => *lease.key == *key,
            })
    }

    fn choose(
        &mut self,
        key: &[u8],
        ranges: &[Range],
        wanted: Option<u128>,
    ) -> Result<(u128, Range), Refusal> {
        let had = self.clients.get(key).copied();
        for address in had.into_iter().chain(wanted) {
            if let Some(range) = ranges.iter().find(|range| range.contains(address))
                && self.is_free(address, key)
            {
                return Ok((address, *range));
            }
        }
        let is_full = self.entries.len() >= self.limits.leases;
        if !is_full && let Some(found) = self.unused_of(ranges, key) {
            return Ok(found);
        }
        for range in ranges {
            let free = self.ranges.get(range);
            if let Some((_, address)) = free.and_then(|free| free.ended.first()) {
                return Ok((*address, *range));
            }
            if range.first == range.last && self.is_free(range.first, key) {
                return Ok((range.first, *range));
            }
        }
        // An ended lease of another range, or an offer, makes room.
        let can_evict = self.entries.len() > self.bound.len();
        if is_full
            && can_evict
            && let Some(found) = self.unused_of(ranges, key)
        {
            return Ok(found);
        }
        let oldest = self.offers.iter().find_map(|(_, address)| {
            let range = ranges.iter().find(|range| range.contains(*address))?;
            Some((*address, *range))
        });
        let (address, range) = oldest.ok_or(Refusal::Exhausted)?;
        let end = self.entries.get(&address).map_or(Time::ZERO, |e| e.end);
        self.finish(address, end);
        Ok((address, range))
    }

    fn unused_of(&mut self, ranges: &[Range], key: &[u8]) -> Option<(u128, Range)> {
        let mut ranges = ranges.iter();
        ranges.find_map(|range| Some((self.unused(range, key)?, *range)))
    }

    /// An address of a range that no client has had: near the place of the client's own, so that a server that has lost its
    /// table gives most clients the addresses they had.
    fn unused(&mut self, range: &Range, key: &[u8]) -> Option<u128> {
        let top = range.top();
        if top == 0 {
            return (!self.entries.contains_key(&range.first)).then_some(range.first);
        }
        let hash = |seed| {
            let words = key.chunks(8).map(|chunk| {
                let bytes = chunk.iter();
                bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
            });
            words.fold(seed, |hash, word| split_mix(hash ^ word, 0))
        };
        let place = u128::from(hash(1)) << 64 | u128::from(hash(2));
        let place = place.checked_rem(top.saturating_add(1)).unwrap_or(place);
        for index in place..=top.min(place.saturating_add(PLACES)) {
            let address = range.address(index);
            if !self.entries.contains_key(&address) {
                return Some(address);
            }
        }
        if self.ranges.len() >= MAX_RANGES && !self.ranges.contains_key(range) {
            return None;
        }
        let free = self.ranges.entry(*range).or_default();
        while free.next <= top {
            let address = range.address(free.next);
            if !self.entries.contains_key(&address) {
                return Some(address);
            }
            free.next += 1;
        }
        None
    }

    /// Writes the entry of an address.
    fn set(
        &mut self,
        key: &[u8],
        circuit: &[u8],
        (address, range): (u128, Range),
        state: State,
        end: Time,
    ) -> Result<(), Refusal> {
        let held = self
            .find(key)
            .is_some_and(|lease| lease.state != State::Ended && *lease.circuit == *circuit);
        let count = self.circuits.get(circuit).copied().unwrap_or(0);
        if !held && count >= self.limits.circuit {
            // Another offer of the circuit makes room.
            if !self.end_oldest_offer(|lease| *lease.circuit == *circuit && *lease.key != *key) {
                return Err(Refusal::Circuit);
            }
        }
        let range = (range.first != range.last).then_some(range);
        if let Some(range) = range
            && !self.ranges.contains_key(&range)
        {
            if self.ranges.len() >= MAX_RANGES {
                return Err(Refusal::Full);
            }
            self.ranges.insert(range, Free::default());
        }
        if !self.entries.contains_key(&address)
            && self.entries.len() >= self.limits.leases
            && !self.evict()
        {
            return Err(Refusal::Full);
        }
        // The client's other address is free again.
        if let Some(other) = self.clients.get(key).copied().filter(|old| *old != address) {
            if self
                .entries
                .get(&other)
                .is_some_and(|lease| lease.state != State::Ended)
            {
                self.finish(other, Time::ZERO);
            }
            self.clients.remove(key);
        }
        self.unlist(address);
        // Entries of a circuit share its bytes.
        let known = self.circuits.get_key_value(circuit);
        let circuit = known.map_or_else(|| circuit.into(), |(known, _)| known.clone());
        *self.circuits.entry(circuit.clone()).or_default() += 1;
        let list = match state {
            State::Offered => &mut self.offers,
            _ => &mut self.bound,
        };
        list.insert((end, address));
        if let Some(lease) = self.entries.get_mut(&address) {
            if *lease.key == *key && self.clients.get(key) == Some(&address) {
                (lease.circuit, lease.state, lease.end) = (circuit, state, end);
                lease.range = range;
                return Ok(());
            }
            if self.clients.get(&lease.key) == Some(&address) {
                self.clients.remove(&lease.key);
            }
        }
        let key: Arc<[u8]> = key.into();
        self.clients.insert(key.clone(), address);
        self.entries.insert(
            address,
            Lease {
                address,
                key,
                circuit,
                state,
                end,
                range,
            },
        );
        Ok(())
    }

    /// Takes an entry off the list of its state, and off the count of its circuit.
    fn unlist(&mut self, address: u128) {
        let Some(lease) = self.entries.get(&address) else {
            return;
        };
        let at = (lease.end, address);
        match (lease.state, &lease.range) {
            (State::Offered, _) => self.offers.remove(&at),
            (State::Bound | State::Declined, _) => self.bound.remove(&at),
            (State::Ended, None) => self.loose.remove(&at),
            (State::Ended, Some(range)) => self
                .ranges
                .get_mut(range)
                .is_some_and(|free| free.ended.remove(&at)),
        };
        if lease.state != State::Ended
            && let Some(count) = self.circuits.get_mut(&lease.circuit)
        {
            *count -= 1;
            if *count == 0 {
                self.circuits.remove(&lease.circuit);
            }
        }
    }

    /// Ends a lease; returns it with its last state.
    fn finish(&mut self, address: u128, end: Time) -> Option<Lease> {
        self.unlist(address);
        let lease = self.entries.get_mut(&address)?;
        let was = lease.clone();
        (lease.state, lease.end) = (State::Ended, end);
        match lease.range.and_then(|range| self.ranges.get_mut(&range)) {
            Some(free) => free.ended.insert((end, address)),
            None => self.loose.insert((end, address)),
        };
        Some(was)
    }

    fn end_oldest_offer(&mut self, is_it: impl Fn(&Lease) -> bool) -> bool {
        let offers = self.offers.iter();
        let mut offers = offers.filter(|(_, at)| self.entries.get(at).is_some_and(&is_it));
        let oldest = offers.next().copied();
        oldest.is_some_and(|(end, address)| self.finish(address, end).is_some())
    }

    /// Removes an ended lease, or else the oldest offer, to make room.
    fn evict(&mut self) -> bool {
        let ends = self.ranges.values().map(|free| &free.ended);
        if ends.chain([&self.loose]).all(BTreeSet::is_empty) {
            self.end_oldest_offer(|_| true);
        }
        let mut ranges = self.ranges.values().filter_map(|free| free.ended.first());
        let Some((_, address)) = self.loose.first().or_else(|| ranges.next()).copied() else {
            return false;
        };
        self.unlist(address);
        let Some(lease) = self.entries.remove(&address) else {
            return false;
        };
        if self.clients.get(&lease.key) == Some(&address) {
            self.clients.remove(&lease.key);
        }
        if let Some(range) = lease.range
            && let Some(free) = self.ranges.get_mut(&range)
        {
            free.next = free.next.min((address - range.first) / range.step);
        }
        true
    }
}
