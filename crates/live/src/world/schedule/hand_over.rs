//! Departures by ports that keep the time themselves: frames are handed over ahead of it, and the port tells when they left.

use super::{Item, Refused, Schedule, Stamp};
use crate::kernel::thread::lock;
use crate::port::PortError;
use crate::port::pace::{Departures, Wanted};
use ::capture::clock::now_ns;
use node::{StampId, Time};
use packet::Departure;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

/// Timeout of each poll for departures at the end of the run.
const FINAL_POLL_TIMEOUT: Duration = Duration::from_millis(50);

/// Frames that the ports have and have not sent, by lane: with the wanted time, and the departure
/// that the node requested.
pub struct Kept(Vec<VecDeque<UnderWay>>);

struct UnderWay {
    wanted: Option<Wanted>,
    stamp: Option<(StampId, Time)>,
}

impl Kept {
    /// Creates an empty one for this number of lanes.
    pub fn new(lanes: usize) -> Kept {
        Kept((0..lanes).map(|_| VecDeque::new()).collect())
    }

    /// Whether no departure is still to be reported.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }
}

impl Schedule {
    /// Gives a batch to the port of a lane, each frame with its time, and its buffers back.
    pub fn hand_over(
        &self,
        index: usize,
        batch: &mut Vec<Item>,
        kept: &mut Kept,
        trouble: &mut Option<PortError>,
    ) {
        let lane = &self.lanes[index];
        let Some(keeper) = lane.timekeeper else {
            return;
        };
        let mut tx = lock(&lane.tx);
        for item in batch.iter() {
            if lane.dead.load(Relaxed) {
                lane.refuse(Refused::NoLink, 1);
                continue;
            }
            // One that nobody asked for at a time is in its place, and not late.
            let ps = u128::from(item.at) * 1000;
            let departure = match item.wanted.is_none() && item.at <= now_ns() {
                true => Departure::Now,
                // Never early: the first tick that is not before it.
                false => Departure::At(
                    keeper
                        .tick
                        .count(ps.next_multiple_of(keeper.tick.as_ps().into())),
                ),
            };
            match tx.schedule(departure, &item.frame) {
                Ok(()) => {
                    kept.0[index].push_back(UnderWay {
                        wanted: item.wanted,
                        stamp: item.stamp,
                    });
                    if lane.exit.is_none() {
                        self.sent.fetch_add(1, SeqCst);
                    }
                }
                Err(error) => self.refused(lane, error, trouble),
            }
        }
        drop(tx);
        if let Some(exit) = &lane.exit {
            let frames = batch.iter_mut();
            lock(exit).show(
                self.since_start(now_ns()),
                frames.map(|item| &mut item.frame),
            );
        }
        self.give_back(index, batch);
    }

    /// Takes what the ports tell of departures, waiting so long for each port at most; whether some are still to come.
    pub fn settle(
        &self,
        kept: &mut Kept,
        departures: &mut Departures,
        trouble: &mut Option<PortError>,
        wait: Duration,
    ) -> bool {
        for (index, (lane, kept)) in self.lanes.iter().zip(&mut kept.0).enumerate() {
            while let Some(UnderWay { wanted, stamp }) = kept.front() {
                let departed = lock(&lane.tx).departed(wait);
                let at = match departed {
                    Ok(Some(at)) => at,
                    Ok(None) => break,
                    Err(error) => {
                        trouble.get_or_insert(error);
                        kept.clear();
                        break;
                    }
                };
                if let &Some(wanted) = wanted {
                    departures.record(wanted, at);
                }
                if let &Some((id, ahead)) = stamp {
                    let at = self.since_start(at) - ahead;
                    let lane = index;
                    lock(&self.stamps[self.lanes[lane].owner]).push(Stamp { id, lane, at });
                    self.any_stamps[self.lanes[lane].owner].store(true, SeqCst);
                }
                kept.pop_front();
            }
        }
        kept.0.iter().any(|lane| !lane.is_empty())
    }

    /// Waits until the ports have sent all that they have.
    pub fn settle_all(
        &self,
        kept: &mut Kept,
        departures: &mut Departures,
        trouble: &mut Option<PortError>,
    ) {
        while self.settle(kept, departures, trouble, FINAL_POLL_TIMEOUT) {}
    }
}
