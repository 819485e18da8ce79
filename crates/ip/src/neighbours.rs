//! Addresses on the link and their MAC addresses, with the states of RFC 4861 section 7.3.2, for ARP and neighbour
//! discovery alike, and the packets that wait for one.
//!
//! The table sends nothing itself: it says which neighbour must be asked. A neighbour is asked for by itself and at
//! once, however many others are.
//!
//! Memory is bounded whatever peers send: [`MAX_NEIGHBOURS`] entries, [`MAX_WAITING`] packets for each, and
//! [`MAX_WAITING_BYTES`] of all. A full table gives up an entry that nothing was sent to for long.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::Bound;
use node::{Frame, Out, Time, When};

/// Number of requests for a neighbour that does not answer, by multicast and by unicast, and the timeout of each
/// (`MAX_MULTICAST_SOLICIT`, `MAX_UNICAST_SOLICIT` and `RETRANS_TIMER` of RFC 4861 section 10; Linux sends as many by ARP).
pub const MAX_REQUESTS: u32 = 3;
/// See [`MAX_REQUESTS`].
pub const REQUEST_TIMEOUT: Time = Time::from_secs(1);
/// Time in which an upper layer may confirm a neighbour before it is asked (`DELAY_FIRST_PROBE_TIME`).
pub const DELAY: Time = Time::from_secs(5);
/// Usual time for which a confirmation counts (`REACHABLE_TIME`).
pub const REACHABLE_TIME: Time = Time::from_secs(30);
/// Maximum number of packets that wait for one neighbour.
pub const MAX_WAITING: usize = 1024;
/// Maximum size of all packets that wait, bytes, each counted with `OVERHEAD` more.
pub const MAX_WAITING_BYTES: usize = 16 << 20;
/// Maximum number of neighbours.
pub const MAX_NEIGHBOURS: usize = 4096;
/// Bytes that a waiting packet counts in addition to its length.
const OVERHEAD: usize = 256;
/// Maximum number of entries that are looked at to find one to give up.
const MAX_CANDIDATES: usize = 16;
/// Reason of a drop.
pub(crate) const NO_ANSWER: &str = "no host answered for this address";
const FULL: &str = "waits for an address";

/// Packets that wait for a neighbour, with their departure times.
pub type Waiting = Vec<(When, Frame)>;

/// State of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was asked, and has not answered.
    Incomplete,
    /// It has answered a request not long ago.
    Reachable,
    /// Its MAC address is known, and used until something is sent to it.
    Stale,
    /// Something was sent to it; if nothing confirms it, it is asked.
    Delay,
    /// It is being asked at the MAC address that is known.
    Probe,
}

/// A message about a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It asked for an address of this interface.
    Request([u8; 6]),
    /// It said its own address.
    Reply {
        /// `None`: the message has no such option.
        mac: Option<[u8; 6]>,
        /// Whether this interface had asked.
        solicited: bool,
        /// Whether it replaces a MAC address that is known.
        overrides: bool,
    },
}

/// A timer that has expired.
#[derive(Debug)]
pub enum Due {
    /// This neighbour must be asked, at a MAC address or by multicast.
    Ask(IpAddr, Option<[u8; 6]>),
    /// This one has not answered; the packets that have waited for it.
    Failed(IpAddr, Waiting),
}

#[derive(Debug)]
struct Neighbour {
    mac: [u8; 6],
    state: State,
    /// Time of the last confirmation.
    confirmed: Time,
    requests: u32,
    timer: Option<Time>,
    /// Whether something was sent to it since the table last looked for an entry to give up.
    used: bool,
    waiting: Waiting,
}

/// The neighbours of an interface.
#[derive(Debug, Default)]
pub struct Neighbours {
    all: BTreeMap<IpAddr, Neighbour>,
    timers: BTreeSet<(Time, IpAddr)>,
    waiting_bytes: usize,
    /// The entry that was looked at last to find one to give up.
    hand: Option<IpAddr>,
    /// Time for which a confirmation counts; `None`: always.
    reachable: Option<Time>,
}

impl Neighbours {
    /// A table in which a confirmation counts for `reachable`; `None`: no neighbour is asked again (unreachability
    /// detection, RFC 4861 section 7.3, is off).
    pub fn new(reachable: Option<Time>) -> Neighbours {
        Neighbours {
            reachable,
            ..Neighbours::default()
        }
    }

    /// The MAC address of a neighbour to which something is sent now.
    pub fn resolve(&mut self, now: Time, who: &IpAddr) -> Option<[u8; 6]> {
        let one = self.all.get_mut(who)?;
        if one.state == State::Incomplete {
            return None;
        }
        one.used = true;
        let Some(reachable) = self.reachable else {
            return Some(one.mac);
        };
        if one.state == State::Reachable && one.confirmed + reachable <= now {
            one.state = State::Stale;
        }
        if one.state == State::Stale {
            one.state = State::Delay;
            set_timer(&mut self.timers, *who, one, Some(now + DELAY));
        }
        Some(one.mac)
    }

    /// Keeps a packet until its next hop, which did not [resolve](Neighbours::resolve), is known; `true` when the hop
    /// must be asked now.
    pub fn wait(
        &mut self,
        now: Time,
        hop: IpAddr,
        when: When,
        frame: Frame,
        out: &mut Out,
    ) -> bool {
        let size = frame.len() + OVERHEAD;
        let new = !self.all.contains_key(&hop);
        if new {
            self.make_room(out);
        }
        let one = self.all.entry(hop).or_insert_with(|| Neighbour {
            mac: [0; 6],
            state: State::Incomplete,
            confirmed: now,
            requests: 1,
            timer: None,
            used: true,
            waiting: Vec::new(),
        });
        if new {
            set_timer(&mut self.timers, hop, one, Some(now + REQUEST_TIMEOUT));
        }
        let fits = self.waiting_bytes + size <= MAX_WAITING_BYTES;
        match fits && one.waiting.len() < MAX_WAITING {
            true => {
                self.waiting_bytes += size;
                one.waiting.push((when, frame));
            }
            false => out.drop(frame, FULL),
        }
        new
    }

    /// Takes a message about a neighbour; gives the packets that have waited for it, to send them to the MAC address. An
    /// entry is made for a request alone, and only if `create`.
    pub fn hear(
        &mut self,
        now: Time,
        who: IpAddr,
        heard: Heard,
        create: bool,
        out: &mut Out,
    ) -> Option<([u8; 6], Waiting)> {
        if let (Heard::Request(mac), true, false) = (heard, create, self.all.contains_key(&who)) {
            self.make_room(out);
            let stale = Neighbour {
                mac,
                state: State::Stale,
                confirmed: now,
                requests: 0,
                timer: None,
                used: false,
                waiting: Vec::new(),
            };
            self.all.insert(who, stale);
            return None;
        }
        let one = self.all.get_mut(&who)?;
        let incomplete = one.state == State::Incomplete;
        let (state, mac) = match heard {
            Heard::Request(mac) if incomplete || mac != one.mac => (State::Stale, mac),
            Heard::Request(_) => return None,
            // RFC 4861 section 7.2.5.
            Heard::Reply { mac, solicited, .. } if incomplete => match solicited {
                true => (State::Reachable, mac?),
                false => (State::Stale, mac?),
            },
            Heard::Reply {
                mac,
                solicited,
                overrides,
            } => {
                let changed = mac.is_some_and(|mac| mac != one.mac);
                if changed && !overrides {
                    if one.state == State::Reachable {
                        one.state = State::Stale;
                    }
                    return None;
                }
                match (solicited, changed) {
                    (true, _) => (State::Reachable, mac.unwrap_or(one.mac)),
                    (false, true) => (State::Stale, mac.unwrap_or(one.mac)),
                    (false, false) => return None,
                }
            }
        };
        (one.state, one.mac, one.confirmed, one.requests) = (state, mac, now, 0);
        set_timer(&mut self.timers, who, one, None);
        let waiting = core::mem::take(&mut one.waiting);
        self.waiting_bytes -= size_of_all(&waiting);
        Some((mac, waiting))
    }

    /// Confirms that a neighbour is reachable, because an upper layer made progress with it (RFC 4861
    /// section 7.3.1).
    pub fn confirm(&mut self, now: Time, who: IpAddr) {
        if let Some(one) = self.all.get_mut(&who)
            && one.state != State::Incomplete
        {
            (one.state, one.confirmed) = (State::Reachable, now);
            set_timer(&mut self.timers, who, one, None);
        }
    }

    /// Time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// The next timer that has expired by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Due> {
        let &(_, who) = self.timers.first().filter(|(time, _)| *time <= now)?;
        let one = self.all.get_mut(&who).expect("a timer is that of an entry");
        if one.state == State::Delay {
            (one.state, one.requests) = (State::Probe, 0);
        }
        if one.requests >= MAX_REQUESTS {
            return Some(Due::Failed(who, self.take(who)));
        }
        one.requests += 1;
        set_timer(&mut self.timers, who, one, Some(now + REQUEST_TIMEOUT));
        let mac = (one.state == State::Probe).then_some(one.mac);
        Some(Due::Ask(who, mac))
    }

    /// The state of a neighbour.
    pub fn state(&self, now: Time, who: IpAddr) -> Option<State> {
        Some(self.state_of(now, self.all.get(&who)?))
    }

    /// The MAC address of a neighbour, if it has answered.
    pub fn mac(&self, who: IpAddr) -> Option<[u8; 6]> {
        let known = self.all.get(&who);
        known
            .filter(|one| one.state != State::Incomplete)
            .map(|one| one.mac)
    }

    /// All neighbours with their MAC addresses and states.
    pub fn iter(&self, now: Time) -> impl Iterator<Item = (IpAddr, [u8; 6], State)> {
        let all = self.all.iter();
        all.map(move |(who, one)| (*who, one.mac, self.state_of(now, one)))
    }

    fn state_of(&self, now: Time, one: &Neighbour) -> State {
        let lapsed = self
            .reachable
            .is_some_and(|time| one.confirmed + time <= now);
        match one.state {
            State::Reachable if lapsed => State::Stale,
            state => state,
        }
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Size of all packets that wait, bytes, each counted with its overhead.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    fn remove(&mut self, who: IpAddr, reason: &'static str, out: &mut Out) {
        for (_, frame) in self.take(who) {
            out.drop(frame, reason);
        }
    }

    /// Takes an entry out; gives the packets that have waited.
    fn take(&mut self, who: IpAddr) -> Waiting {
        let Some(one) = self.all.remove(&who) else {
            return Waiting::new();
        };
        if let Some(time) = one.timer {
            self.timers.remove(&(time, who));
        }
        self.waiting_bytes -= size_of_all(&one.waiting);
        one.waiting
    }

    /// Makes room for an entry: of some in turn the one that matters least goes, so that forged requests replace each
    /// other and not the neighbours to which packets go.
    fn make_room(&mut self, out: &mut Out) {
        if self.all.len() < MAX_NEIGHBOURS {
            return;
        }
        let mut victim = None;
        for _ in 0..MAX_CANDIDATES {
            let after = self.hand.map_or(Bound::Unbounded, Bound::Excluded);
            let next = match self.all.range_mut((after, Bound::Unbounded)).next() {
                Some(next) => next,
                // Round again.
                None => self.all.iter_mut().next().expect("the table is full"),
            };
            let (who, one) = next;
            self.hand = Some(*who);
            let worth = match one.state {
                State::Stale if !one.used => 0,
                State::Incomplete => 1,
                State::Stale => 2,
                State::Reachable | State::Delay | State::Probe => 3,
            };
            one.used = false;
            if victim.is_none_or(|(least, _)| worth < least) {
                victim = Some((worth, *who));
            }
            if worth == 0 {
                break;
            }
        }
        if let Some((_, who)) = victim {
            self.remove(who, "too many neighbours", out);
        }
    }
}

fn set_timer(
    timers: &mut BTreeSet<(Time, IpAddr)>,
    who: IpAddr,
    one: &mut Neighbour,
    time: Option<Time>,
) {
    if let Some(old) = core::mem::replace(&mut one.timer, time) {
        timers.remove(&(old, who));
    }
    timers.extend(time.map(|time| (time, who)));
}

fn size_of_all(waiting: &[(When, Frame)]) -> usize {
    waiting
        .iter()
        .map(|(_, frame)| frame.len() + OVERHEAD)
        .sum()
}

#[cfg(test)]
mod tests;
