//! Memory budgets of peers, per connection and in total.
//!
//! Each server charges the memory that a connection uses to the connection's [`Account`] before it
//! allocates: received bytes, decoded messages, bundles, queued answers. Dropping a [`Held`] amount
//! returns it.
//!
//! ```
//! use node::budget::{Budget, Limits};
//!
//! let budget = Budget::new(Limits { each: 100, reserved: 0, all: 150 });
//! let (first, second) = (budget.account(), budget.account());
//! let held = first.hold(80)?;
//! assert!(first.hold(30).is_err() && second.hold(80).is_err());
//! drop(held);
//! assert!(second.hold(80).is_ok());
//! # Ok::<(), node::budget::Exhausted>(())
//! ```

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Limits of a budget, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit per connection.
    pub each: usize,
    /// Reserved for each connection, independent of the others.
    pub reserved: usize,
    /// Limit of all connections together, without the reserved amounts.
    pub all: usize,
}

/// An amount that does not fit. Its text is for the far end: the cause, then the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The connection would hold more than its limit, in bytes.
    Connection(usize),
    /// All connections together would hold more than their limit, in bytes.
    Total(usize),
}

impl core::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Exhausted::Connection(limit) => write!(
                f,
                "the memory limit of {} MiB per connection is exceeded: send smaller messages",
                limit >> 20
            ),
            Exhausted::Total(limit) => write!(
                f,
                "the memory limit of {} MiB for all connections is reached: try again later",
                limit >> 20
            ),
        }
    }
}

impl core::error::Error for Exhausted {}

/// Memory that all connections of a server share.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    used: Arc<AtomicUsize>,
}

impl Budget {
    /// An empty budget.
    #[must_use]
    pub fn new(limits: Limits) -> Budget {
        Budget {
            limits,
            used: Arc::default(),
        }
    }

    /// The account of a new connection.
    #[must_use]
    pub fn account(&self) -> Account {
        Account {
            budget: self.clone(),
            used: Arc::default(),
        }
    }

    /// Bytes held by all accounts, without the reserved amounts.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
}

/// Memory that one connection holds. Clones are the same account.
#[derive(Clone, Debug)]
pub struct Account {
    budget: Budget,
    used: Arc<AtomicUsize>,
}

impl Account {
    /// Takes `bytes` from the connection's budget and from that of all.
    ///
    /// # Errors
    /// When one of them has no more; nothing is taken then.
    pub fn hold(&self, bytes: usize) -> Result<Held, Exhausted> {
        let mut held = Held {
            account: self.clone(),
            bytes: 0,
        };
        held.grow(bytes)?;
        Ok(held)
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Part of the bytes between two amounts that is beyond the reserve.
    fn shared(&self, from: usize, to: usize) -> usize {
        let reserved = self.budget.limits.reserved;
        to.saturating_sub(reserved) - from.saturating_sub(reserved)
    }
}

/// An amount that an account holds until this is dropped.
#[derive(Debug)]
pub struct Held {
    account: Account,
    bytes: usize,
}

impl Held {
    /// Holds `more` bytes besides.
    ///
    /// # Errors
    /// When the budget does not allow it; the amount then stays as it was.
    pub fn grow(&mut self, more: usize) -> Result<(), Exhausted> {
        if more == 0 {
            return Ok(());
        }
        let Limits { each, all, .. } = self.account.budget.limits;
        let within =
            |limit, more| move |used: usize| used.checked_add(more).filter(|&used| used <= limit);
        let own = &self.account.used;
        let Ok(before) = own.fetch_update(Relaxed, Relaxed, within(each, more)) else {
            return Err(Exhausted::Connection(each));
        };
        let shared = self.account.shared(before, before + more);
        let total = &self.account.budget.used;
        if total
            .fetch_update(Relaxed, Relaxed, within(all, shared))
            .is_err()
        {
            // The connection may have taken or returned some meanwhile, so that another part of this amount is shared now.
            let after = own.fetch_sub(more, Relaxed);
            let now_shared = self.account.shared(after - more, after);
            total.fetch_add(shared.wrapping_sub(now_shared), Relaxed);
            return Err(Exhausted::Total(all));
        }
        self.bytes += more;
        Ok(())
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let before = self.account.used.fetch_sub(self.bytes, Relaxed);
        let shared = self.account.shared(before - self.bytes, before);
        self.account.budget.used.fetch_sub(shared, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::vec::Vec;

    #[test]
    fn accounts_never_hold_more_than_their_limits_and_return_all() {
        for reserved in [0, 200] {
            let limits = Limits {
                each: 1000,
                reserved,
                all: 2000,
            };
            let budget = Budget::new(limits);
            let accounts: Vec<Account> = (0..4).map(|_| budget.account()).collect();
            let mut held: Vec<(usize, Held)> = Vec::new();
            let mut random = Random::new(7);
            for _ in 0..20_000 {
                let of = random.below(4) as usize;
                let size = random.below(600) as usize;
                let own = |held: &[(usize, Held)], of: usize| -> usize {
                    held.iter()
                        .filter(|(o, _)| *o == of)
                        .map(|h| h.1.bytes)
                        .sum()
                };
                let shared = |own: usize| own.saturating_sub(reserved);
                let all: usize = (0..4).map(|of| shared(own(&held, of))).sum();
                assert_eq!((accounts[of].used(), budget.used()), (own(&held, of), all));
                let expected = |of: usize| {
                    let before = own(&held, of);
                    let more = shared(before + size) - shared(before);
                    match (before + size <= 1000, all + more <= 2000) {
                        _ if size == 0 => Ok(size),
                        (false, _) => Err(Exhausted::Connection(1000)),
                        (true, false) => Err(Exhausted::Total(2000)),
                        (true, true) => Ok(size),
                    }
                };
                match random.below(3) {
                    0 if !held.is_empty() => {
                        held.swap_remove(random.below(held.len() as u64) as usize);
                    }
                    1 if !held.is_empty() => {
                        let at = random.below(held.len() as u64) as usize;
                        let expected = expected(held[at].0);
                        assert_eq!(held[at].1.grow(size).map(|()| size), expected);
                    }
                    _ => {
                        let expected = expected(of);
                        let taken = accounts[of].hold(size);
                        assert_eq!(taken.as_ref().map(Held::bytes).map_err(|e| *e), expected);
                        held.extend(taken.ok().map(|taken| (of, taken)));
                    }
                }
            }
            drop(held);
            assert_eq!(budget.used(), 0);
            assert!(accounts.iter().all(|account| account.used() == 0));
        }
    }

    #[test]
    fn what_is_reserved_is_there_however_much_the_others_hold() {
        let budget = Budget::new(Limits {
            each: 1000,
            reserved: 10,
            all: 500,
        });
        let _greedy = budget.account().hold(510).unwrap();
        let modest = budget.account();
        assert_eq!(modest.hold(11).err(), Some(Exhausted::Total(500)));
        assert!(modest.hold(10).is_ok());
    }

    #[test]
    fn an_amount_past_the_range_of_integers_is_refused() {
        let budget = Budget::new(Limits {
            each: 9,
            reserved: 0,
            all: 9,
        });
        let account = budget.account();
        let _one = account.hold(1).unwrap();
        assert_eq!(
            account.hold(usize::MAX).err(),
            Some(Exhausted::Connection(9))
        );
        assert_eq!(account.used(), 1);
    }
}
