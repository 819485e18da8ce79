//! Admission of connections: limits of all, of those that have not said who they are, and of each address.
//!
//! A connection begins as a *stranger*. It is *known* once it has shown a token, a certificate or a request of the server's
//! protocol, and *busy* while a request of it is carried out. A busy connection keeps its place. When there is no place for a
//! newcomer, a stranger or a known connection that is idle gives up its own: the oldest one of the address that has most of
//! these. So a client that speaks at once is served, however many others wait in silence.

use crate::{Limits, SPARE, pause_after};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Counts of connections, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Let in.
    pub accepted: u64,
    /// Closed at once: as many as may be were open, of all or of its address.
    pub too_many: u64,
    /// Closed at once: the process has hardly any descriptors left.
    pub no_descriptor: u64,
    /// Closed at once: a Unix socket of another user.
    pub other_user: u64,
    /// Times that the system could not accept one.
    pub failed: u64,
    /// Ended since the far end said nothing, or not who it is, for too long.
    pub silent: u64,
    /// Ended since TLS could not agree, or the far end's certificate does not do.
    pub untrusted: u64,
    /// Ended since a newcomer needed its place: it was idle, or had not said who it is.
    pub gave_way: u64,
}

impl Counts {
    /// Those that were not let in.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.too_many + self.no_descriptor + self.other_user + self.untrusted
    }

    /// Each count with its name, as reports have it.
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

/// Lets connections in, as many as the limits allow.
pub struct Gate {
    name: String,
    limits: Limits,
    places: Mutex<Places>,
    counters: Counters,
    told: AtomicBool,
}

/// Connections that are open and keep their places, by the order of their arrival.
#[derive(Default)]
struct Places {
    next: u64,
    taken: BTreeMap<u64, Place>,
}

struct Place {
    /// `None` for a Unix socket.
    from: Option<Origin>,
    /// Requests that are carried out.
    busy: usize,
    slot: Arc<Slot>,
}

/// What a connection and the gate share.
#[derive(Default)]
struct Slot {
    number: u64,
    known: AtomicBool,
    gave_way: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// An address by which connections are counted together: of IPv6 the network of 64 bits.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    fn strangers(&self) -> impl Iterator<Item = &Place> {
        let stranger = |place: &&Place| !place.slot.known.load(Ordering::Relaxed);
        self.taken.values().filter(stranger)
    }

    /// Takes the place of the oldest of those that may give way, of the address that has most of them.
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

/// A connection's place; dropping it gives it back.
pub struct Permit(Visitor);

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.0.gate.places).taken.remove(&self.0.slot.number);
    }
}

impl Permit {
    /// The connection, for those who find out who it is.
    #[must_use]
    pub fn visitor(&self) -> &Visitor {
        &self.0
    }

    /// Whether it has given way to another connection, and is to end.
    #[must_use]
    pub fn gave_way(&self) -> bool {
        self.0.slot.gave_way.load(Ordering::Relaxed)
    }

    /// Ready when it has given way; else the task is woken when it does.
    pub fn poll_gave_way(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut waker = lock(&self.0.slot.waker);
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

/// A connection that was let in, as its requests see it.
#[derive(Clone)]
pub struct Visitor {
    gate: Arc<Gate>,
    slot: Arc<Slot>,
}

impl Visitor {
    /// It has shown who it is.
    pub fn know(&self) {
        self.slot.known.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.slot.known.load(Ordering::Relaxed)
    }

    /// It is known, and keeps its place until this is dropped.
    #[must_use]
    pub fn busy(&self) -> Busy {
        self.know();
        self.count(|busy| busy + 1);
        Busy(self.clone())
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        if let Some(place) = lock(&self.gate.places).taken.get_mut(&self.slot.number) {
            place.busy = change(place.busy);
        }
    }
}

/// A request that is carried out.
pub struct Busy(Visitor);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.count(|busy| busy - 1);
    }
}

impl Gate {
    /// With these limits; the name is for messages.
    #[must_use]
    pub fn new(name: impl Into<String>, limits: Limits) -> Arc<Gate> {
        Arc::new(Gate {
            name: name.into(),
            limits,
            places: Mutex::default(),
            counters: Counters::default(),
            told: AtomicBool::new(false),
        })
    }

    /// What it allows.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Lets a connection in that was accepted from this address, of a Unix socket from none; `None` when it is to be closed.
    #[must_use]
    pub fn admit(
        self: &Arc<Self>,
        connection: &impl AsRawFd,
        address: Option<IpAddr>,
    ) -> Option<Permit> {
        let counters = &self.counters;
        if !spare_after(connection) {
            self.refuse(
                &counters.no_descriptor,
                "hardly any descriptor is left (ulimit -n)",
            );
            return None;
        }
        let from = address.map(Origin::new);
        let mut places = lock(&self.places);
        if let Err(why) = self.make_room(&mut places, from) {
            drop(places);
            self.refuse(&counters.too_many, &why);
            return None;
        }
        let number = places.next;
        places.next += 1;
        let slot = Arc::new(Slot {
            number,
            // A Unix socket is of this user.
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

    /// Has others give way, so that there is a place for a connection of this address.
    fn make_room(&self, places: &mut Places, from: Option<Origin>) -> Result<(), String> {
        let Limits {
            connections,
            strangers,
            per_address,
            ..
        } = self.limits;
        let Some(from) = from else {
            return match places.taken.len() < connections {
                true => Ok(()),
                false => Err(format!(
                    "{connections} connections are open, which is the most"
                )),
            };
        };
        // The programs of this machine have one address, and the last place.
        let (per_address, connections) = match from.is_loopback {
            true => (connections, connections),
            false => (per_address, (connections - 1).max(1)),
        };
        let own = |place: &Place| place.from == Some(from);
        if places.taken.values().filter(|place| own(place)).count() >= per_address {
            let gone = places.give_way(own);
            self.end(gone.ok_or_else(|| {
                format!("its address has {per_address} connections, which is the most")
            })?);
        }
        if places.strangers().count() >= strangers {
            let stranger = |place: &Place| !place.slot.known.load(Ordering::Relaxed);
            if let Some(gone) = places.give_way(stranger) {
                self.end(gone);
            }
        }
        if places.taken.len() >= connections {
            let gone = places.give_way(|_| true);
            self.end(
                gone.ok_or_else(|| {
                    format!("{connections} connections are open, which is the most")
                })?,
            );
        }
        Ok(())
    }

    fn end(&self, slot: Arc<Slot>) {
        self.counters.gave_way.fetch_add(1, Ordering::Relaxed);
        let mut waker = lock(&slot.waker);
        slot.gave_way.store(true, Ordering::Relaxed);
        if let Some(waker) = waker.take() {
            waker.wake();
        }
    }

    /// Accepting failed; how long to wait before the next try, if at all.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> Option<Duration> {
        let pause = pause_after(error)?;
        self.refuse(&self.counters.failed, &error.to_string());
        Some(pause)
    }

    /// A connection of another user was closed.
    pub fn other_user(&self) {
        self.refuse(&self.counters.other_user, "it was of another user");
    }

    /// A connection ended since nothing came for too long, or it did not say who it is.
    pub fn silent(&self) {
        self.counters.silent.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection ended before the two sides trusted each other.
    pub fn untrusted(&self, why: &dyn fmt::Display) {
        self.refuse(&self.counters.untrusted, &why.to_string());
    }

    /// What was counted until now.
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

    /// What a report says at the end; `None` when all connections were let in.
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

    /// Counts, and reports the first one alone: a log does not fill.
    fn refuse(&self, counter: &AtomicU64, why: &str) {
        counter.fetch_add(1, Ordering::Relaxed);
        if !self.told.swap(true, Ordering::Relaxed) {
            let name = &self.name;
            eprintln!(
                "wire: {name}: a connection was turned away: {why}; further ones are counted"
            );
        }
    }
}

/// Whether descriptors are left for other work when this connection has one: the system gives out the lowest that is free.
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
