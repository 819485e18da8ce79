//! One port of a group: the machines for receipt, periodic transmission and the multiplexer
//! (IEEE 802.1AX-2014 sections 6.4.12 to 6.4.15).

use super::pdu::{End, State};
use super::{FAST, LONG_TIMEOUT, SHORT_TIMEOUT, SLOW, WAIT};
use node::Time;

/// State of the receive machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Receive {
    #[default]
    Disabled,
    Expired,
    Defaulted,
    Current,
}

/// State of the multiplexer machine, with independent control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mux {
    #[default]
    Detached,
    Waiting,
    Attached,
    Collecting,
    Distributing,
}

impl Mux {
    /// Name as in `tables`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Mux::Detached => "detached",
            Mux::Waiting => "waiting",
            Mux::Attached => "attached",
            Mux::Collecting => "collecting",
            Mux::Distributing => "distributing",
        }
    }
}

/// A port of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub port: u16,
    pub link: bool,
    pub actor: End,
    pub partner: End,
    pub receive: Receive,
    pub current_while: Time,
    pub mux: Mux,
    pub wait_while: Time,
    pub selected: bool,
    /// Something must be said (`NTT`).
    pub ntt: bool,
    pub periodic: Option<Time>,
    /// Departures of the last three LACPDUs, the oldest first: no more leave in one second (6.4.16).
    pub departures: [Option<Time>; 3],
    pub received: u32,
    pub received_until: Time,
}

impl Member {
    /// The link is up or down, or the machine begins.
    pub(super) fn restart(&mut self, now: Time, link: bool, defaults: State) {
        self.link = link;
        self.selected = false;
        self.partner = End::default();
        self.actor.state = defaults;
        self.mux = Mux::Detached;
        self.periodic = None;
        if link {
            self.receive = Receive::Expired;
            self.actor.state.set(State::EXPIRED, true);
            self.partner.state.set(State::SHORT_TIMEOUT, true);
            self.current_while = now + SHORT_TIMEOUT;
            self.ntt = true;
        } else {
            self.receive = Receive::Disabled;
        }
    }

    /// CURRENT: takes the partner's information.
    pub(super) fn handle(&mut self, now: Time, actor: &End, partner: &End) {
        // update_Selected
        let aggregates = |end: &End| end.state.has(State::AGGREGATION);
        if !actor.is_same_port(&self.partner) || aggregates(actor) != aggregates(&self.partner) {
            self.selected = false;
        }
        // update_NTT
        const KNOWN: u8 =
            State::ACTIVITY | State::SHORT_TIMEOUT | State::SYNCHRONIZATION | State::AGGREGATION;
        let is_known = partner.is_same_port(&self.actor)
            && (partner.state.0 ^ self.actor.state.0) & KNOWN == 0;
        self.ntt |= !is_known;
        // recordPDU
        let is_matched = partner.is_same_port(&self.actor)
            && aggregates(partner) == aggregates(&self.actor)
            || !aggregates(actor);
        let is_kept_up = actor.state.has(State::ACTIVITY)
            || (self.actor.state.has(State::ACTIVITY) && partner.state.has(State::ACTIVITY));
        self.partner = *actor;
        let in_sync = actor.state.has(State::SYNCHRONIZATION) && is_matched && is_kept_up;
        self.partner.state.set(State::SYNCHRONIZATION, in_sync);
        self.actor.state.set(State::DEFAULTED, false);
        self.actor.state.set(State::EXPIRED, false);
        self.receive = Receive::Current;
        let timeout = match self.actor.state.has(State::SHORT_TIMEOUT) {
            true => SHORT_TIMEOUT,
            false => LONG_TIMEOUT,
        };
        self.current_while = now + timeout;
    }

    /// Timers of the receive and periodic machines.
    pub(super) fn expire(&mut self, now: Time) {
        let is_due = self.current_while <= now;
        match self.receive {
            Receive::Current if is_due => {
                self.receive = Receive::Expired;
                self.partner.state.set(State::SYNCHRONIZATION, false);
                self.partner.state.set(State::SHORT_TIMEOUT, true);
                self.actor.state.set(State::EXPIRED, true);
                self.current_while = now + SHORT_TIMEOUT;
                self.ntt = true;
            }
            Receive::Expired if is_due => {
                self.receive = Receive::Defaulted;
                self.selected = false;
                self.partner = End::default();
                self.actor.state.set(State::DEFAULTED, true);
                self.actor.state.set(State::EXPIRED, false);
            }
            _ => {}
        }
        let is_active =
            self.actor.state.has(State::ACTIVITY) || self.partner.state.has(State::ACTIVITY);
        let interval = match self.partner.state.has(State::SHORT_TIMEOUT) {
            true => FAST,
            false => SLOW,
        };
        self.periodic = match self.periodic {
            _ if !self.link || !is_active => None,
            Some(at) if at <= now => {
                self.ntt = true;
                Some(now + interval)
            }
            // A partner that wants them faster does not wait for the old interval.
            Some(at) => Some(at.min(now + interval)),
            None => Some(now + interval),
        };
    }

    /// The multiplexer; says whether its state has changed.
    pub(super) fn multiplex(&mut self, now: Time) -> bool {
        let before = self.mux;
        let partner = |bit| self.partner.state.has(bit);
        let in_sync = self.selected && partner(State::SYNCHRONIZATION);
        self.mux = match self.mux {
            Mux::Detached if self.selected => {
                self.wait_while = now + WAIT;
                Mux::Waiting
            }
            Mux::Waiting if !self.selected => Mux::Detached,
            Mux::Waiting if self.wait_while <= now => Mux::Attached,
            Mux::Attached if in_sync => Mux::Collecting,
            Mux::Attached if !self.selected => Mux::Detached,
            Mux::Collecting if !in_sync => Mux::Attached,
            Mux::Collecting if partner(State::COLLECTING) => Mux::Distributing,
            Mux::Distributing if !in_sync || !partner(State::COLLECTING) => Mux::Collecting,
            same => same,
        };
        let rank = self.mux as u8;
        let state = &mut self.actor.state;
        state.set(State::SYNCHRONIZATION, rank >= Mux::Attached as u8);
        state.set(State::COLLECTING, rank >= Mux::Collecting as u8);
        state.set(State::DISTRIBUTING, rank >= Mux::Distributing as u8);
        let changed = self.mux != before;
        self.ntt |= changed && self.mux != Mux::Waiting;
        changed
    }

    /// When something is due.
    pub(super) fn deadline(&self, now: Time) -> Option<Time> {
        if !self.link {
            return None;
        }
        let current = matches!(self.receive, Receive::Current | Receive::Expired);
        let current = current.then_some(self.current_while);
        let waiting = (self.mux == Mux::Waiting).then_some(self.wait_while);
        let hold = self.departures[0].map(|at| at + FAST);
        let hold = hold.filter(|&at| self.ntt && at > now);
        [current, waiting, self.periodic, hold]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether an LACPDU leaves now.
    pub(super) fn take_departure(&mut self, now: Time) -> bool {
        let has_word =
            self.actor.state.has(State::ACTIVITY) || self.partner.state.has(State::ACTIVITY);
        if !self.ntt || !self.link || !has_word {
            return false;
        }
        if self.departures[0].is_some_and(|at| at + FAST > now) {
            return false;
        }
        self.ntt = false;
        self.departures = [self.departures[1], self.departures[2], Some(now)];
        true
    }
}
