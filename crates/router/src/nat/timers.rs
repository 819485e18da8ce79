//! Order in which sessions time out.
//!
//! Every class of sessions has one timeout, so a session whose timer restarts is the last of its class: a list for each
//! class is always in order, and no packet costs a search.

use super::config::Config;
use super::index::{NONE, Slab};
use node::Time;

/// Sessions with a common timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Udp,
    UdpWellKnown,
    UdpUnreplied,
    TcpEstablished,
    TcpTransitory,
    Icmp,
    Other,
}

/// Number of classes.
const CLASSES: usize = 7;

/// A place in the list of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub class: Class,
    pub expires: Time,
    older: u32,
    newer: u32,
}

impl Timer {
    /// A timer that is in no list yet.
    pub const fn new(class: Class) -> Timer {
        Timer {
            class,
            expires: Time::MAX,
            older: NONE,
            newer: NONE,
        }
    }
}

/// An entry with a timer.
pub(super) trait Timed {
    fn timer(&mut self) -> &mut Timer;
}

#[derive(Clone, Copy, Debug)]
struct List {
    timeout: Time,
    oldest: u32,
    newest: u32,
}

/// The lists of all classes.
#[derive(Debug)]
pub(super) struct Timers {
    lists: [List; CLASSES],
}

impl Timers {
    pub fn new(config: &Config) -> Timers {
        let unreplied = config.udp_unreplied.unwrap_or(config.udp);
        // In the order of `Class`.
        let timeouts = [
            config.udp,
            config.udp_well_known,
            unreplied,
            config.tcp_established,
            config.tcp_transitory,
            config.icmp,
            config.other,
        ];
        Timers {
            lists: timeouts.map(|timeout| List {
                timeout,
                oldest: NONE,
                newest: NONE,
            }),
        }
    }

    /// Puts an entry that is in no list at the end of its class's.
    pub fn start<T: Timed>(&mut self, now: Time, entries: &mut Slab<T>, number: u32) {
        let timer = entries[number].timer();
        let list = &mut self.lists[timer.class as usize];
        timer.expires = now + list.timeout;
        timer.older = list.newest;
        timer.newer = NONE;
        match list.newest {
            NONE => list.oldest = number,
            newest => entries[newest].timer().newer = number,
        }
        list.newest = number;
    }

    /// Takes an entry out of its list.
    pub fn stop<T: Timed>(&mut self, entries: &mut Slab<T>, number: u32) {
        let timer = *entries[number].timer();
        let list = &mut self.lists[timer.class as usize];
        match timer.older {
            NONE => list.oldest = timer.newer,
            older => entries[older].timer().newer = timer.newer,
        }
        match timer.newer {
            NONE => list.newest = timer.older,
            newer => entries[newer].timer().older = timer.older,
        }
    }

    /// Restarts an entry's timer, as one of `class`.
    pub fn restart<T: Timed>(
        &mut self,
        now: Time,
        entries: &mut Slab<T>,
        number: u32,
        class: Class,
    ) {
        let timer = entries[number].timer();
        let list = self.lists[class as usize];
        if timer.class == class && list.newest == number {
            timer.expires = now + list.timeout;
            return;
        }
        self.stop(entries, number);
        entries[number].timer().class = class;
        self.start(now, entries, number);
    }

    /// The entry that expires first, and its time.
    pub fn first<T: Timed>(&self, entries: &mut Slab<T>) -> Option<(Time, u32)> {
        let oldest = self.lists.iter().map(|list| list.oldest);
        let oldest = oldest.filter(|&number| number != NONE);
        oldest
            .map(|number| (entries[number].timer().expires, number))
            .min()
    }

    /// All entries, class by class.
    pub fn numbers<'a, T>(
        &'a self,
        entries: &'a Slab<T>,
        timer: impl Fn(&T) -> &Timer + Copy + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        self.lists.iter().flat_map(move |list| {
            let some = |number: u32| (number != NONE).then_some(number);
            core::iter::successors(some(list.oldest), move |&number| {
                some(timer(&entries[number]).newer)
            })
        })
    }
}
