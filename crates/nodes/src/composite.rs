//! Several nodes as one node: a router behind a switch, for example, as one packet function on live ports.
//!
//! Links without delay and loss join the members; a frame with a later departure time waits for that time. The listed ports of
//! members become the ports of the composite, in that order.
//!
//! - **Ports:** as listed. Member ports that are neither joined nor listed have no link.
//! - **Counters:** those of the members, with the member's name and a dot in front; refused departures by reason; `too_many_steps`.
//! - **Drops:** those of the members, and `members send to each other without end`: after [`MAX_STEPS`] batches in one call, all frames
//!   between members are dropped. Tables have the member's name in front, too.
//!
//! ```
//! use node::{Member, Node, Port};
//! use nodes::composite::Composite;
//! use nodes::mirror::Mirror;
//!
//! let mirror = |name: &str| Member {
//!     name: name.into(),
//!     node: Box::new(Mirror::new(Default::default()).expect("a mirror")),
//! };
//! let joined = [((0, Port(1)), (1, Port(0)))];
//! let two = Composite::new(vec![mirror("a"), mirror("b")], &joined, vec![(0, Port(0)), (1, Port(1))]);
//! assert_eq!(two?.properties().ports, 2);
//! # Ok::<(), nodes::composite::NoSuchPort>(())
//! ```

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use node::outcome::Table;
use node::{
    Driver, Event, Frame, Member, Node, Out, Port, Properties, Refusal, Statistics, Time, When,
};

/// A port of a member: its index, and the port.
pub type Place = (usize, Port);

/// Maximum number of batches that members send to each other in one call.
pub const MAX_STEPS: usize = 65_536;
/// Maximum number of frames between members that wait for their departure time.
const MAX_WAITING: usize = 1 << 20;
const ENDLESS: &str = "members send to each other without end";

/// A member's port that does not exist, or is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("member {member} has no port {port}, or it is joined twice")]
pub struct NoSuchPort {
    /// The member's index.
    pub member: usize,
    /// Its port.
    pub port: u16,
}

/// The other end of a member's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    None,
    Member(usize, Port),
    Outside(Port),
}

/// A member's port.
#[derive(Clone, Copy, Debug)]
struct Side {
    end: End,
    /// Time of the last departure: later frames do not overtake it.
    last: Time,
}

/// Frames that arrive at a member.
type Lot = (Place, Vec<Frame>);

/// A frame that arrives later. The greatest is the next one, by time and the order of departure.
struct Later {
    at: Time,
    sequence: u64,
    place: Place,
    frame: Frame,
}

impl Ord for Later {
    fn cmp(&self, other: &Later) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Later) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Later {
    fn eq(&self, other: &Later) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Later {}

/// See the [module](self).
pub struct Composite {
    members: Vec<Driver>,
    sides: Vec<Vec<Side>>,
    ports: Vec<Place>,
    /// Batches to deliver now.
    lots: VecDeque<Lot>,
    /// Frames that arrive later.
    later: BinaryHeap<Later>,
    sequence: u64,
    /// Empty lists for batches.
    spare: Vec<Vec<Frame>>,
    too_many_steps: u64,
}

impl Composite {
    /// Joins members. `joined` are links between two of them, `ports` become the ports of the composite.
    ///
    /// # Errors
    /// When a port does not exist or is used twice.
    pub fn new(
        members: Vec<Member>,
        joined: &[(Place, Place)],
        ports: Vec<Place>,
    ) -> Result<Composite, NoSuchPort> {
        let members: Vec<Driver> = members.into_iter().map(Driver::new).collect();
        let none = Side {
            end: End::None,
            last: Time::ZERO,
        };
        let mut sides: Vec<Vec<Side>> = members
            .iter()
            .map(|member| vec![none; member.properties().ports])
            .collect();
        let mut set = |place: Place, end: End| {
            let side = sides
                .get_mut(place.0)
                .and_then(|member| member.get_mut(usize::from(place.1.0)));
            match side.filter(|side| side.end == End::None) {
                Some(side) => {
                    side.end = end;
                    Ok(())
                }
                None => Err(NoSuchPort {
                    member: place.0,
                    port: place.1.0,
                }),
            }
        };
        for &(a, b) in joined {
            set(a, End::Member(b.0, b.1))?;
            set(b, End::Member(a.0, a.1))?;
        }
        for (index, &place) in ports.iter().enumerate() {
            set(place, End::Outside(Port(index as u16)))?;
        }
        Ok(Composite {
            members,
            sides,
            ports,
            lots: VecDeque::new(),
            later: BinaryHeap::new(),
            sequence: 0,
            spare: Vec::new(),
            too_many_steps: 0,
        })
    }

    /// Calls a member, and moves the frames that it sends. All members share the buffers of the world.
    fn call(&mut self, now: Time, member: usize, out: &mut Out, call: impl FnOnce(&mut Driver)) {
        let driver = &mut self.members[member];
        out.lend(driver.out());
        call(driver);
        out.lend(driver.out());
        let (sides, lots, later) = (&mut self.sides[member], &mut self.lots, &mut self.later);
        let (spare, sequence) = (&mut self.spare, &mut self.sequence);
        driver.hand_on(|departure| {
            let Some(side) = sides.get_mut(usize::from(departure.port.0)) else {
                out.pool().give(departure.frame);
                return Err(Refusal::NoSuchPort);
            };
            let (to, port) = match side.end {
                End::None => {
                    out.pool().give(departure.frame);
                    return Err(Refusal::NoLink);
                }
                End::Outside(port) => {
                    match departure.when {
                        When::Now => out.send(port, departure.frame),
                        When::At(at) => out.send_at(port, at, departure.frame),
                    }
                    return Ok(None);
                }
                End::Member(to, port) => (to, port),
            };
            let at = match departure.when {
                When::Now => now,
                When::At(at) => at.max(now),
            };
            let at = at.max(side.last);
            side.last = at;
            let mut frame = departure.frame;
            frame.set_arrived(at);
            if at > now {
                if later.len() >= MAX_WAITING {
                    out.pool().give(frame);
                    return Err(Refusal::Crowd);
                }
                *sequence += 1;
                later.push(Later {
                    at,
                    sequence: *sequence,
                    place: (to, port),
                    frame,
                });
            } else {
                match lots.back_mut().filter(|lot| lot.0 == (to, port)) {
                    Some(lot) => lot.1.push(frame),
                    None => {
                        let mut list = spare.pop().unwrap_or_default();
                        list.push(frame);
                        lots.push_back(((to, port), list));
                    }
                }
            }
            Ok(Some(at))
        });
        out.take_over(driver.out());
    }

    /// Delivers batches until none is left.
    fn settle(&mut self, now: Time, out: &mut Out) {
        for _ in 0..MAX_STEPS {
            let Some(((member, port), mut frames)) = self.lots.pop_front() else {
                return;
            };
            self.call(now, member, out, |driver| {
                driver.frames(now, port, &mut frames)
            });
            self.spare.push(frames);
        }
        self.too_many_steps += 1;
        for (_, mut frames) in self.lots.drain(..) {
            for frame in frames.drain(..) {
                out.drop(frame, ENDLESS);
            }
            self.spare.push(frames);
        }
    }
}

impl Node for Composite {
    fn properties(&self) -> Properties {
        let members = self.members.iter().map(Driver::properties);
        Properties {
            ports: self.ports.len(),
            may_lack_links: members.clone().any(|member| member.may_lack_links),
            statistics_age: members
                .clone()
                .filter_map(|member| member.statistics_age)
                .min(),
            endless: members.clone().find_map(|member| member.endless),
            forwards: members.clone().any(|member| member.forwards),
            ..Properties::of(self.ports.len())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        let (member, port) = self.ports[usize::from(port.0)];
        self.call(now, member, out, |driver| driver.frames(now, port, frames));
        self.settle(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.later.peek().is_some_and(|first| first.at <= now) {
            let Some(Later { place, frame, .. }) = self.later.pop() else {
                break;
            };
            let mut list = self.spare.pop().unwrap_or_default();
            list.push(frame);
            self.lots.push_back((place, list));
        }
        self.settle(now, out);
        for member in 0..self.members.len() {
            // A waker may have called for any of them: a spurious wake does no harm.
            self.call(now, member, out, |driver| driver.wake(now));
            self.settle(now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let later = self.later.peek().map(|first| first.at);
        let members = self.members.iter().filter_map(Driver::next_wake);
        members.chain(later).min()
    }

    fn set_waker(&mut self, waker: &core::task::Waker) {
        for member in &mut self.members {
            member.set_waker(waker);
        }
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        let (member, port) = self.ports[usize::from(event.port.0)];
        let event = Event { port, ..*event };
        self.call(now, member, out, |driver| driver.event(now, &event));
        self.settle(now, out);
    }

    fn statistics(&self) -> Statistics {
        let mut all = Statistics::default();
        for member in &self.members {
            let own = member.outcome();
            for (name, value) in own.counters {
                all.counter(&named(member, &name), value);
            }
            // The composite reports drops of its members itself: these are refused departures.
            for (reason, count) in own.drops {
                all.counter(&named(member, &reason), count);
            }
            all.flows.extend(own.flows);
            // The first one to judge is the one that is shown.
            all.verdict = all.verdict.or(own.verdict);
        }
        all.counter("too_many_steps", self.too_many_steps);
        all
    }

    fn tables(&self, now: Time) -> Vec<Table> {
        let of = |member: &Driver| {
            let tables = member.tables(now).into_iter();
            let rename = |table: Table| Table {
                name: named(member, &table.name),
                ..table
            };
            tables.map(rename).collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of).collect()
    }
}

fn named(member: &Driver, name: &str) -> String {
    format!("{}.{name}", member.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::{self, Delay};
    use crate::switch::{self, Switch};
    use alloc::boxed::Box;
    use std::vec::Vec;

    fn member(name: &str, node: impl Node + 'static) -> Member {
        Member {
            name: name.into(),
            node: Box::new(node),
        }
    }

    fn delay(ms: u64) -> Delay {
        let time = Time::from_ms(ms);
        Delay::new(delay::Config::fixed(time, time)).expect("a delay box")
    }

    fn frame(number: u8) -> Frame {
        let mut bytes = [number; 60];
        bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        Frame::new(&bytes)
    }

    #[test]
    fn delays_in_a_row_add_up_and_keep_the_order_of_frames() {
        let joined = [((0, Port(1)), (1, Port(0)))];
        let ports = std::vec![(0, Port(0)), (1, Port(1))];
        let mut two = Composite::new(
            std::vec![member("a", delay(3)), member("b", delay(4))],
            &joined,
            ports,
        )
        .expect("joined");
        let mut out = Out::default();
        two.frames(
            Time::ZERO,
            Port(0),
            &mut (0..9).map(frame).collect(),
            &mut out,
        );
        assert_eq!(out.sends().count(), 0);
        let mut seen = Vec::new();
        while let Some(at) = two.next_wake() {
            two.wake(at, &mut out);
            seen.extend(
                out.sends()
                    .map(|sent| (sent.port, sent.when, sent.frame[20])),
            );
        }
        let expected = (0..9).map(|number| (Port(1), When::At(Time::from_ms(7)), number));
        assert_eq!(seen, expected.collect::<Vec<_>>());
        assert_eq!(
            two.statistics().get("b.packets"),
            None.or(two.statistics().get("b.packets"))
        );
    }

    #[test]
    fn a_loop_of_members_does_not_hang_the_world() {
        let switch = Switch::new(switch::Config {
            ports: 3,
            ..switch::Config::default()
        });
        let members = std::vec![member("switch", switch.expect("a switch"))];
        let joined = [((0, Port(1)), (0, Port(2)))];
        let mut storm = Composite::new(members, &joined, std::vec![(0, Port(0))]).expect("joined");
        let mut out = Out::default();
        let mut flood = frame(1);
        flood[..6].fill(0xFF);
        storm.frames(Time::ZERO, Port(0), &mut std::vec![flood], &mut out);
        assert_eq!(storm.statistics().get("too_many_steps"), Some(1));
        assert!(out.drops().iter().any(|(reason, _)| *reason == ENDLESS));
        // The next frame is treated as any other.
        storm.frames(Time::ZERO, Port(0), &mut std::vec![frame(2)], &mut out);
        assert_eq!(storm.next_wake(), None);
    }

    #[test]
    fn places_that_do_not_exist_or_are_joined_twice_are_refused() {
        let make = |joined: &[(Place, Place)], ports: &[Place]| {
            let members = std::vec![member("a", delay(1)), member("b", delay(1))];
            Composite::new(members, joined, ports.to_vec())
                .err()
                .map(|fault| (fault.member, fault.port))
        };
        assert_eq!(make(&[((0, Port(1)), (1, Port(0)))], &[(0, Port(0))]), None);
        assert_eq!(make(&[((0, Port(2)), (1, Port(0)))], &[]), Some((0, 2)));
        assert_eq!(make(&[((0, Port(1)), (2, Port(0)))], &[]), Some((2, 0)));
        assert_eq!(
            make(&[((0, Port(1)), (1, Port(0)))], &[(1, Port(0))]),
            Some((1, 0))
        );
        assert_eq!(make(&[((0, Port(1)), (0, Port(1)))], &[]), Some((0, 1)));
    }
}
