//! The network card of this process: all its ports in Verilog, and the thread that runs them. An edge of a port's clock comes when
//! CLOCK_MONOTONIC shows its time, so that counters show what every port's does. Time is in steps that are whole parts of all ticks. Where the thread is behind the clock their time is
//! behind too, and all of them together: what they do among themselves is as exact as ever.

use crate::nic::{Cable, Nic, Traffic, ns_of, steps_of};
use ::capture::clock;
use cosim::Speed;
use live::thread::{self, lock};
use node::Histogram;
use std::io;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Steps between two looks at what is to be done: 10,000 edges of a gigabit port.
const SLICE: u64 = 50_000;
/// How long the thread sleeps at most.
const SLEEP_NS: u64 = 1_000_000_000;

#[derive(Default)]
struct State {
    /// Ports that the thread has yet to see.
    fresh: Vec<Nic>,
    /// The ends of cables that are taken, and how fast the ports at them are.
    ends: Vec<(String, u8, Speed)>,
    started: bool,
    called: bool,
}

/// What the thread has done so far.
#[derive(Default)]
struct Account {
    /// Of ports that are gone.
    traffic: Traffic,
    behind: Histogram,
    /// Time in which cycles were simulated, ns.
    busy_ns: u64,
}

/// The card.
#[derive(Default)]
pub struct Card {
    state: Mutex<State>,
    changed: Condvar,
    /// The thread has them while it works.
    nics: Mutex<Vec<Nic>>,
    account: Mutex<Account>,
}

static CARD: OnceLock<Card> = OnceLock::new();

/// The card of this process.
pub fn card() -> &'static Card {
    CARD.get_or_init(Card::default)
}

/// Says on standard error what the card's time was worth, if there was one.
pub fn report() {
    let Some(card) = CARD.get() else { return };
    let mut nics = lock(&card.nics);
    let mut account = lock(&card.account);
    for nic in nics.iter_mut() {
        account.traffic.add(nic.traffic());
    }
    let Account {
        traffic,
        behind,
        busy_ns,
    } = &*account;
    let rate = traffic.cycles as f64 * 1e3 / (*busy_ns).max(1) as f64;
    let cycles = traffic.cycles;
    eprintln!("wire-rtl: {cycles} cycles of ports in Verilog, {rate:.1} million a second");
    eprintln!("  behind the clock by {}", Nic::spread(behind));
    for (histogram, what) in [
        (&traffic.entering, "came in"),
        (&traffic.leaving, "went out"),
    ] {
        if histogram.total() > 0 {
            let (frames, late) = (histogram.total(), Nic::spread(histogram));
            eprintln!("  {frames} frames {what} by cables to ports of the machine, late by {late}");
        }
    }
    for (count, what) in [
        (traffic.lost, "frames were lost at the end of a cable"),
        (
            traffic.diverged,
            "characters left otherwise than foreseen: a fault of the Verilog",
        ),
    ] {
        if count > 0 {
            eprintln!("  {count} {what}");
        }
    }
}

impl Card {
    /// Takes an end of a cable.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn take_end(&self, name: &str, end: u8, speed: Speed) -> Result<(), &'static str> {
        let mut state = lock(&self.state);
        let mut others = state.ends.iter().filter(|(other, ..)| other == name);
        match others.find(|(_, at, other)| *at == end || *other != speed) {
            Some((_, at, _)) if *at == end => {
                Err("this end of the cable is in use; the other one is free, or name another cable")
            }
            Some(_) => Err("the port at the other end of the cable has another speed"),
            None => {
                state.ends.push((name.to_owned(), end, speed));
                Ok(())
            }
        }
    }

    /// Takes a port, and starts the thread with the first one.
    ///
    /// # Errors
    /// When the system has no room for a thread.
    pub fn add(&'static self, nic: Nic) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !state.started {
            thread::spawn("card", || self.run())?;
            state.started = true;
        }
        state.fresh.push(nic);
        drop(state);
        self.call();
        Ok(())
    }

    /// There is something to do.
    pub fn call(&self) {
        lock(&self.state).called = true;
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut done = steps_of(clock::now_ns());
        loop {
            let mut nics = lock(&self.nics);
            let began = clock::now_ns();
            let target = done.max(steps_of(began));
            let first = nics.iter().filter_map(Nic::next).min();
            let any = first.is_some_and(|first| first <= target);
            // What lies before the first edge at which anything happens costs nothing.
            let goal = first.map_or(target, |first| target.min(first.saturating_add(SLICE)));
            advance(&mut nics, &mut done, goal, any);
            nics.append(&mut lock(&self.state).fresh);
            for nic in nics.iter_mut() {
                // A port that is new begins with edge 0.
                nic.advance(done);
                nic.take_in();
            }
            for at in 0..nics.len() {
                let other = other_end(&nics, at);
                let arrived = other.is_none_or(|other| !nics[other].is_receiving());
                nics[at].finish(arrived);
            }
            self.account(&mut nics, began, done, any);
            if done == target {
                let next = nics.iter().filter_map(Nic::next).min();
                drop(nics);
                self.rest(next);
            }
        }
    }

    /// Takes down what has been done since `began`, and gives up ports that nobody has.
    fn account(&self, nics: &mut Vec<Nic>, began: u64, done: u64, any: bool) {
        let mut account = lock(&self.account);
        let now = clock::now_ns();
        if any {
            account.busy_ns += now - began;
            account.behind.record(now.saturating_sub(ns_of(done)));
        }
        nics.retain_mut(|nic| {
            let over = nic.is_over();
            if over {
                account.traffic.add(nic.traffic());
                if let Cable::Inside(name, end) = &nic.cable {
                    let mut state = lock(&self.state);
                    state
                        .ends
                        .retain(|(other, at, _)| (other, at) != (name, end));
                }
            }
            !over
        });
    }

    /// Sleeps until a time, or a call.
    fn rest(&self, next: Option<u64>) {
        let at = next.map_or(u64::MAX, ns_of);
        let wait = at.saturating_sub(clock::now_ns()).min(SLEEP_NS);
        let mut state = lock(&self.state);
        if !state.called && wait > 0 {
            let waited = self.changed.wait_timeout(state, Duration::from_nanos(wait));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.called = false;
    }
}

/// Lets edges come to all ports until a time. A frame that leaves is known before its first byte, so that they go in steps
/// short enough that none comes too late to the other end of its cable.
fn advance(nics: &mut [Nic], done: &mut u64, goal: u64, any: bool) {
    let slack = nics.iter().map(Nic::slack).min().unwrap_or(0);
    while *done < goal {
        let next = nics.iter().filter_map(Nic::next).min().unwrap_or(goal);
        let until = if any {
            next.saturating_add(slack)
        } else {
            goal
        };
        *done = until.clamp(*done + 1, goal);
        for at in 0..nics.len() {
            nics[at].advance(*done);
            for leaving in nics[at].take_left() {
                let other = other_end(nics, at);
                match other {
                    Some(other) => nics[other].comes(&leaving),
                    None => nics[at].out(&leaving),
                }
                nics[at].tell(leaving.slot);
            }
        }
    }
}

/// The port at the other end of a cable inside the card.
fn other_end(nics: &[Nic], at: usize) -> Option<usize> {
    let Cable::Inside(name, end) = &nics[at].cable else {
        return None;
    };
    let other =
        |nic: &Nic| matches!(&nic.cable, Cable::Inside(other, at) if other == name && at != end);
    nics.iter().position(other)
}
