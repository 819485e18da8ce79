//! Who is let in, and what was counted.

use crate::{Limits, SPARE, pause_after};
use rustix::process::{Resource, getrlimit};
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// What came of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Let in.
    pub accepted: u64,
    /// Closed at once: as many as may be were open.
    pub too_many: u64,
    /// Closed at once: the process has hardly any descriptors left.
    pub no_descriptor: u64,
    /// Closed at once: a Unix socket of another user.
    pub other_user: u64,
    /// Times that the system could not accept one.
    pub failed: u64,
    /// Ended since the far end said nothing for too long.
    pub silent: u64,
    /// Ended since TLS could not agree, or the far end's certificate does not do.
    pub untrusted: u64,
}

impl Counts {
    /// Those that were not let in.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.too_many + self.no_descriptor + self.other_user + self.untrusted
    }

    /// Each count with its name, as reports have it.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("accepted", self.accepted),
            ("too_many", self.too_many),
            ("no_descriptor", self.no_descriptor),
            ("other_user", self.other_user),
            ("accept_failed", self.failed),
            ("silent", self.silent),
            ("untrusted", self.untrusted),
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
}

/// Lets connections in, as many as the limits allow.
pub struct Gate {
    name: String,
    limits: Limits,
    open: AtomicUsize,
    counters: Counters,
    told: AtomicBool,
}

/// A connection's place; dropping it gives it back.
pub struct Permit(Arc<Gate>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// With these limits; the name is for messages.
    #[must_use]
    pub fn new(name: impl Into<String>, limits: Limits) -> Arc<Gate> {
        Arc::new(Gate {
            name: name.into(),
            limits,
            open: AtomicUsize::new(0),
            counters: Counters::default(),
            told: AtomicBool::new(false),
        })
    }

    /// What it allows.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Lets a connection in that was accepted; `None` when it is to be closed.
    #[must_use]
    pub fn admit(self: &Arc<Self>, connection: &impl AsRawFd) -> Option<Permit> {
        let counters = &self.counters;
        if !spare_after(connection) {
            self.refuse(
                &counters.no_descriptor,
                "hardly any descriptor is left (ulimit -n)",
            );
            return None;
        }
        let most = self.limits.connections;
        let more = |open| (open < most).then_some(open + 1);
        let (relaxed, open) = (Ordering::Relaxed, &self.open);
        if open.fetch_update(relaxed, relaxed, more).is_err() {
            let why = format!("{most} connections are open, which is the most");
            self.refuse(&counters.too_many, &why);
            return None;
        }
        counters.accepted.fetch_add(1, relaxed);
        Some(Permit(Arc::clone(self)))
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

    /// A connection ended since nothing came for too long.
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
        }
    }

    /// What a report says at the end; `None` when all who came were let in.
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

    /// Counts, and tells of the first one: who waits at the far end is not left to guess, and nobody can fill a log.
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
mod tests {
    use super::*;

    #[test]
    fn one_too_many_is_turned_away_until_another_goes() {
        let limits = Limits {
            connections: 2,
            ..crate::CONTROL
        };
        let gate = Gate::new("test", limits);
        let file = std::fs::File::open("/dev/null").unwrap();
        let (first, second) = (gate.admit(&file), gate.admit(&file));
        assert!(first.is_some() && second.is_some() && gate.admit(&file).is_none());
        drop(first);
        assert!(gate.admit(&file).is_some());
        let counts = gate.counts();
        assert_eq!((counts.accepted, counts.too_many), (3, 1));
        assert_eq!(counts.turned_away(), 1);
    }

    #[test]
    fn the_last_descriptors_are_for_others() {
        let most = getrlimit(Resource::Nofile).current.unwrap();
        struct Number(i32);
        impl AsRawFd for Number {
            fn as_raw_fd(&self) -> i32 {
                self.0
            }
        }
        assert!(spare_after(&Number(3)));
        let last = i32::try_from(most - 1).unwrap();
        assert!(!spare_after(&Number(last)));
        let gate = Gate::new("test", crate::CONTROL);
        assert!(gate.admit(&Number(last)).is_none());
        assert_eq!(gate.counts().no_descriptor, 1);
    }
}
