//! Admission of connections: limits in total, for unidentified connections, and per address.
//!
//! A connection starts *unidentified*. It is *identified* after a token, a client certificate or a
//! complete request of the server's protocol, and *busy* while a request runs. A busy connection
//! is never evicted. When the limit is reached, a new connection evicts an idle one: the oldest
//! connection of the address that has the most idle ones. So a client that sends its request at
//! once is served, even while many others are silent.

use crate::{Limits, SPARE, pause_after};
use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Counts of connections by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Admitted.
    pub accepted: u64,
    /// Closed at once: the limit in total or of its address was reached.
    pub too_many: u64,
    /// Closed at once: the process had too few file descriptors left.
    pub no_descriptor: u64,
    /// Closed at once: a Unix socket connection of another user.
    pub other_user: u64,
    /// Failed calls of accept(2).
    pub failed: u64,
    /// Closed after a timeout: idle, or not identified in time.
    pub silent: u64,
    /// Closed because the TLS handshake failed or the peer's certificate was refused.
    pub untrusted: u64,
    /// Evicted while idle or unidentified, for a new connection.
    pub gave_way: u64,
}

impl Counts {
    /// Connections that were refused.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.too_many + self.no_descriptor + self.other_user + self.untrusted
    }

    /// Each count with its name in reports.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("accepted", self.accepted),
            ("too_many", self.too_many),
            ("no_descriptor", self.no_descriptor),
            ("other_user", self.other_user),
            ("accept_failed", self.failed),
            ("silent", self.silent),
            ("untrusted", self.untrusted),
            ("gave_way", self.gave_way),
        ]
    }
}

#[derive(Default)]
struct Counters {
    accepted: AtomicU64,
    too_many: AtomicU64,
    no_descriptor: AtomicU64,
    other_user: AtomicU64,
    failed: AtomicU64,
    silent: AtomicU64,
    untrusted: AtomicU64,
    gave_way: AtomicU64,
}

/// Admits connections within limits.
pub struct Gate {
    name: String,
    limits: Limits,
    places: Mutex<Places>,
    counters: Counters,
    told: AtomicBool,
}

/// Open connections in order of arrival.
#[derive(Default)]
struct Places {
    next: u64,
    taken: BTreeMap<u64, Place>,
}

struct Place {
    /// `None` for a Unix socket.
    from: Option<Origin>,
    /// Requests in progress.
    busy: usize,
    slot: Arc<Slot>,
}

/// State shared by a connection and the gate.
#[derive(Default)]
struct Slot {
    number: u64,
    known: AtomicBool,
    gave_way: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// Address under which connections are counted: an IPv4 address or an IPv6 /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    bits: u128,
    is_loopback: bool,
}

impl Origin {
    fn new(address: IpAddr) -> Origin {
        let address = address.to_canonical();
        let bits = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits() >> 64 << 64,
        };
        Origin {
            bits,
            is_loopback: address.is_loopback(),
        }
    }
}

impl Place {
    fn is_unidentified(&self) -> bool {
        !self.slot.known.load(Ordering::Relaxed)
    }
}

impl Places {
    fn unidentified(&self) -> impl Iterator<Item = &Place> {
        self.taken.values().filter(|place| place.is_unidentified())
    }

    /// Evicts the oldest connection that `may` be evicted, of the address that has the most of these.
    fn give_way(&mut self, may: impl Fn(&Place) -> bool) -> Option<Arc<Slot>> {
        let mut counts: BTreeMap<Option<Origin>, (usize, u64)> = BTreeMap::new();
        for (&number, place) in &self.taken {
            if place.busy == 0 && may(place) {
                counts.entry(place.from).or_insert((0, number)).0 += 1;
            }
        }
        let most = counts
            .into_values()
            .max_by_key(|&(count, first)| (count, u64::MAX - first));
        let (_, oldest) = most?;
        self.taken.remove(&oldest).map(|place| place.slot)
    }
}

/// Admission of one connection; dropping it frees the place.
pub struct Permit(Visitor);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.gate.places.lock().taken.remove(&self.0.slot.number);
    }
}

impl Permit {
    /// The connection, for code that identifies the peer.
    #[must_use]
    pub fn visitor(&self) -> &Visitor {
        &self.0
    }

    /// Whether the connection was evicted and must close.
    #[must_use]
    pub fn gave_way(&self) -> bool {
        self.0.slot.gave_way.load(Ordering::Relaxed)
    }

    /// Ready after the connection was evicted; otherwise wakes the task when it is.
    pub fn poll_gave_way(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut waker = self.0.slot.waker.lock();
        if self.gave_way() {
            return Poll::Ready(());
        }
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

/// An admitted connection, as seen by its requests.
#[derive(Clone)]
pub struct Visitor {
    gate: Arc<Gate>,
    slot: Arc<Slot>,
}

impl Visitor {
    /// Marks the connection as identified.
    pub fn know(&self) {
        self.slot.known.store(true, Ordering::Relaxed);
    }

    /// Whether the connection is identified.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.slot.known.load(Ordering::Relaxed)
    }

    /// Marks the connection as identified, and as busy until the result is dropped.
    #[must_use]
    pub fn busy(&self) -> Busy {
        self.know();
        self.count(|busy| busy + 1);
        Busy(self.clone())
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        if let Some(place) = self.gate.places.lock().taken.get_mut(&self.slot.number) {
            place.busy = change(place.busy);
        }
    }
}

/// A request in progress.
pub struct Busy(Visitor);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.count(|busy| busy - 1);
    }
}

impl Gate {
    /// A gate with `limits`; `name` appears in messages. Raises the soft limit of file descriptors by the
    /// number of connections, as far as the hard limit permits.
    #[must_use]
    pub fn new(name: impl Into<String>, limits: Limits) -> Arc<Gate> {
        raise_descriptors(limits.connections);
        Arc::new(Gate {
            name: name.into(),
            limits,
            places: Mutex::default(),
            counters: Counters::default(),
            told: AtomicBool::new(false),
        })
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Admits an accepted connection from `address` (`None` for a Unix socket). Returns `None` when
    /// the caller must close it.
    #[must_use]
    pub fn admit(
        self: &Arc<Self>,
        connection: &impl AsRawFd,
        address: Option<IpAddr>,
    ) -> Option<Permit> {
        let counters = &self.counters;
        if !spare_after(connection) {
            // The peer's next attempt finds room, even if other connections stay silent.
            let gone = self.places.lock().give_way(Place::is_unidentified);
            if let Some(gone) = gone {
                self.end(gone);
            }
            self.refuse(
                &counters.no_descriptor,
                "hardly any descriptor is left (ulimit -n)",
            );
            return None;
        }
        let from = address.map(Origin::new);
        let mut places = self.places.lock();
        if let Err(why) = self.make_room(&mut places, from) {
            drop(places);
            self.refuse(&counters.too_many, &why);
            return None;
        }
        let number = places.next;
        places.next += 1;
        let slot = Arc::new(Slot {
            number,
            // A Unix socket connection belongs to this user.
            known: AtomicBool::new(from.is_none()),
            ..Slot::default()
        });
        let place = Place {
            from,
            busy: usize::from(from.is_none()),
            slot: Arc::clone(&slot),
        };
        places.taken.insert(number, place);
        counters.accepted.fetch_add(1, Ordering::Relaxed);
        let gate = Arc::clone(self);
        Some(Permit(Visitor { gate, slot }))
    }

    /// Evicts connections until one from `from` fits.
    fn make_room(&self, places: &mut Places, from: Option<Origin>) -> Result<(), String> {
        let Limits {
            connections,
            unidentified,
            per_address,
            ..
        } = self.limits;
        let Some(from) = from else {
            return match places.taken.len() < connections {
                true => Ok(()),
                false => Err(format!("the limit of {connections} connections is reached")),
            };
        };
        // All programs of this machine share one address; the last place is reserved for it.
        let (per_address, connections) = match from.is_loopback {
            true => (connections, connections),
            false => (per_address, (connections - 1).max(1)),
        };
        let own = |place: &Place| place.from == Some(from);
        if places.taken.values().filter(|place| own(place)).count() >= per_address {
            let gone = places.give_way(own);
            self.end(gone.ok_or_else(|| {
                format!("the limit of {per_address} connections per address is reached")
            })?);
        }
        if places.unidentified().count() >= unidentified
            && let Some(gone) = places.give_way(Place::is_unidentified)
        {
            self.end(gone);
        }
        if places.taken.len() >= connections {
            let gone = places.give_way(|_| true);
            self.end(
                gone.ok_or_else(|| format!("the limit of {connections} connections is reached"))?,
            );
        }
        Ok(())
    }

    fn end(&self, slot: Arc<Slot>) {
        self.counters.gave_way.fetch_add(1, Ordering::Relaxed);
        let mut waker = slot.waker.lock();
        slot.gave_way.store(true, Ordering::Relaxed);
        if let Some(waker) = waker.take() {
            waker.wake();
        }
    }

    /// Counts a failed accept(2). Returns the pause before the next call, if one is needed.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> Option<Duration> {
        let pause = pause_after(error)?;
        self.refuse(&self.counters.failed, &error.to_string());
        Some(pause)
    }

    /// Counts a connection of another user.
    pub fn other_user(&self) {
        self.refuse(&self.counters.other_user, "it was of another user");
    }

    /// Counts a connection that was closed after a timeout.
    pub fn silent(&self) {
        self.counters.silent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection whose TLS handshake or certificate failed.
    pub fn untrusted(&self, why: &dyn fmt::Display) {
        self.refuse(&self.counters.untrusted, &why.to_string());
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            accepted: of(&self.counters.accepted),
            too_many: of(&self.counters.too_many),
            no_descriptor: of(&self.counters.no_descriptor),
            other_user: of(&self.counters.other_user),
            failed: of(&self.counters.failed),
            silent: of(&self.counters.silent),
            untrusted: of(&self.counters.untrusted),
            gave_way: of(&self.counters.gave_way),
        }
    }

    /// One line for the final report; `None` when every connection was admitted.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let counts = self.counts();
        let named = counts.named().into_iter().filter(|(_, count)| *count > 0);
        let named: Vec<String> = named
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let fine = Counts {
            accepted: counts.accepted,
            ..Counts::default()
        };
        (counts != fine).then(|| format!("{}: connections: {}", self.name, named.join(", ")))
    }

    /// Counts, and reports only the first one, so that logs do not fill up.
    fn refuse(&self, counter: &AtomicU64, why: &str) {
        counter.fetch_add(1, Ordering::Relaxed);
        if !self.told.swap(true, Ordering::Relaxed) {
            let name = &self.name;
            eprintln!("wire: {name}: connection refused: {why}; further refusals are only counted");
        }
    }
}

/// Without descriptors a connection is refused, and only its next attempt is admitted. At the usual soft limit of 1024 that would come
/// before the limits of a gate.
fn raise_descriptors(connections: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(before) = current else {
        return;
    };
    let wanted = before.saturating_add(connections as u64);
    let current = Some(maximum.map_or(wanted, |most| wanted.min(most)));
    // Where it is refused, the limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// Whether enough file descriptors remain after `connection` got its own. The kernel hands out the
/// lowest free number.
#[must_use]
pub fn spare_after(connection: &impl AsRawFd) -> bool {
    let Some(most) = getrlimit(Resource::Nofile).current else {
        return true;
    };
    let number = u64::try_from(connection.as_raw_fd()).unwrap_or(0);
    number + SPARE.min(most / 4) < most
}

#[cfg(test)]
mod tests;
