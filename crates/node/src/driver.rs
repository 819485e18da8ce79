//! The rules of the contract, kept in one place for every world.

use crate::event::What;
use crate::outcome::{NodeOutcome, Statistics, Table};
use crate::{Departure, Event, Frame, Member, Node, Out, Port, Properties, StampId, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

/// Why a frame is refused that a node has sent, or would have been given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The node has no such port.
    NoSuchPort,
    /// The port has no link.
    NoLink,
    /// No format carries it.
    TooLong,
    /// A link at the level of blocks does not carry it.
    TooLongForBlocks,
    /// It would arrive when time has ended.
    Never,
    /// There is no room for more frames that wait.
    Crowd,
    /// The kernel had no room for it.
    Lost,
    /// The kernel gave it in a form that cannot be mended.
    Mangled,
}

impl Refusal {
    /// In words, for a node's drops.
    pub const fn reason(self) -> &'static str {
        Refusal::ALL[self as usize].1
    }

    /// All of them, with the words for a node's drops.
    pub const ALL: [(Refusal, &'static str); 8] = [
        (Refusal::NoSuchPort, "sent by a port that is not there"),
        (Refusal::NoLink, "sent by a port that has no link"),
        (Refusal::TooLong, "longer than 262,144 bytes"),
        (
            Refusal::TooLongForBlocks,
            "longer than the 16,000 bytes that a link of blocks carries",
        ),
        (Refusal::Never, "would arrive after the end of time"),
        (Refusal::Crowd, "more than 4,194,304 frames under way"),
        (Refusal::Lost, "lost in the kernel before they were read"),
        (Refusal::Mangled, "received in a form that cannot be mended"),
    ];
}

/// Why frames are counted as dropped that a node neither sent nor gave up.
const LEFT: &str = "left over by the node";

/// A node, and what belongs to it in any world.
///
/// It keeps the time that the node is told from going back, says when [statistics](Properties::statistics_age) are
/// due, and sees to it that no frame is lost without being counted.
pub struct Driver {
    name: String,
    node: Box<dyn Node>,
    properties: Properties,
    out: Out,
    /// The latest time that the node was told.
    now: Time,
    /// When statistics are due next.
    due: Time,
    refused: [u64; Refusal::ALL.len()],
    /// A lot of one.
    single: Vec<Frame>,
    /// Departures that the node has asked for and is not told of yet, in the order of time.
    stamps: VecDeque<(Time, Port, StampId)>,
}

impl Driver {
    /// For a node that has not been called.
    pub fn new(member: Member) -> Driver {
        let Member { name, node } = member;
        Driver {
            properties: node.properties(),
            name,
            node,
            out: Out::default(),
            now: Time::ZERO,
            due: Time::ZERO,
            refused: [0; Refusal::ALL.len()],
            single: Vec::with_capacity(1),
            stamps: VecDeque::new(),
        }
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the node is.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// What the node has answered, for the world to act on.
    #[inline]
    pub fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    /// The latest time that the node was told.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Gives the node frames that have arrived; the list is empty afterwards.
    #[inline]
    pub fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>) {
        self.now = self.now.max(now);
        self.node.frames(self.now, port, frames, &mut self.out);
        if !frames.is_empty() {
            give_up(frames, &mut self.out);
        }
    }

    /// Gives the node one frame.
    #[inline]
    pub fn frame(&mut self, now: Time, port: Port, frame: Frame) {
        self.now = self.now.max(now);
        self.single.push(frame);
        self.node
            .frames(self.now, port, &mut self.single, &mut self.out);
        if !self.single.is_empty() {
            give_up(&mut self.single, &mut self.out);
        }
    }

    /// Wakes the node, and tells it of departures before.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        self.now = self.now.max(now);
        if !self.stamps.is_empty() {
            self.tell_departures();
        }
        self.node.wake(self.now, &mut self.out);
    }

    /// Lets other threads call for the node.
    pub fn set_waker(&mut self, waker: &core::task::Waker) {
        self.node.set_waker(waker);
    }

    /// When the node is to be woken: when it wants to, or when it is to be told of a departure.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        let own = self.node.next_wake();
        match self.stamps.front() {
            Some(&(at, ..)) => Some(own.map_or(at, |own| own.min(at))),
            None => own,
        }
    }

    #[cold]
    fn tell_departures(&mut self) {
        let now = self.now;
        while let Some((at, port, id)) = self.stamps.pop_front_if(|(at, ..)| *at <= now) {
            let what = What::Departed(id);
            let event = Event { at, port, what };
            self.node.event(now, &event, &mut self.out);
        }
    }

    /// A frame by which the node asked for it leaves by a port at a time; the node is told by the first
    /// [`wake`](Driver::wake) from then on.
    pub fn departs(&mut self, at: Time, port: Port, id: StampId) {
        note(&mut self.stamps, (at, port, id));
    }

    /// Tells the node of an event.
    pub fn event(&mut self, now: Time, event: &Event) {
        self.now = self.now.max(now);
        self.node.event(self.now, event, &mut self.out);
    }

    /// Whether the statistics that the node has are older than it acts by, so that a world is to tell it of
    /// them; the next ones are due that much later.
    #[inline]
    pub fn statistics_are_due(&mut self, now: Time) -> bool {
        match self.properties.statistics_age {
            Some(age) if now >= self.due => {
                self.due = now + age;
                true
            }
            _ => false,
        }
    }

    /// Hands on what the node has sent, in the order in which it did. What `send` refuses is counted.
    ///
    /// `send` tells when a frame leaves if that is known already; where it is not, the world says so
    /// [later](Driver::departs) of frames that have a [stamp](Frame::stamp).
    #[inline]
    pub fn hand_on(&mut self, mut send: impl FnMut(Departure) -> Result<Option<Time>, Refusal>) {
        for departure in self.out.sends() {
            let (port, id) = (departure.port, departure.frame.stamp());
            match (send(departure), id) {
                (Ok(Some(at)), Some(id)) => note(&mut self.stamps, (at, port, id)),
                (Ok(_), _) => {}
                (Err(refusal), _) => self.refused[refusal as usize] += 1,
            }
        }
    }

    /// Counts frames that were refused.
    pub fn refuse(&mut self, refusal: Refusal, frames: u64) {
        self.refused[refusal as usize] += frames;
    }

    /// What the node tells of itself.
    pub fn statistics(&self) -> Statistics {
        self.node.statistics()
    }

    /// The node's tables.
    pub fn tables(&self, now: Time) -> Vec<Table> {
        self.node.tables(self.now.max(now))
    }

    /// What the node has come to.
    pub fn outcome(&self) -> NodeOutcome {
        let Statistics {
            counters,
            flows,
            extensions,
            verdict,
        } = self.node.statistics();
        let own = self.out.drops().iter().copied();
        let refused = Refusal::ALL.iter().zip(self.refused);
        let refused = refused.map(|(&(_, reason), count)| (reason, count));
        let drops = own.chain(refused).filter(|&(_, count)| count > 0);
        NodeOutcome {
            name: self.name.clone(),
            flows,
            extensions,
            verdict,
            counters,
            drops: drops
                .map(|(reason, count)| (reason.into(), count))
                .collect(),
        }
    }
}

#[cold]
fn note(stamps: &mut VecDeque<(Time, Port, StampId)>, stamp: (Time, Port, StampId)) {
    let place = stamps.partition_point(|(at, ..)| *at <= stamp.0);
    stamps.insert(place, stamp);
}

/// No frame is lost without being counted.
#[cold]
fn give_up(frames: &mut Vec<Frame>, out: &mut Out) {
    for frame in frames.drain(..) {
        out.drop(frame, LEFT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// Notes what it is told, and takes one frame of each lot.
    struct Witness(Sender<Time>);

    impl Node for Witness {
        fn properties(&self) -> Properties {
            Properties {
                statistics_age: Some(Time::from_ms(1)),
                ..Properties::of(1)
            }
        }

        fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
            self.0.send(now).unwrap();
            out.done(frames.remove(0));
        }

        fn event(&mut self, now: Time, _: &Event, _: &mut Out) {
            self.0.send(now).unwrap();
        }
    }

    fn driver() -> (Driver, std::sync::mpsc::Receiver<Time>) {
        let (sender, told) = channel();
        let member = Member {
            name: "witness".into(),
            node: Box::new(Witness(sender)),
        };
        (Driver::new(member), told)
    }

    /// Sends a frame that asks for its stamp when it is woken, and notes the departures that it is told of.
    struct Stamped(Sender<Event>);

    impl Node for Stamped {
        fn properties(&self) -> Properties {
            Properties::of(1)
        }

        fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
            for mut frame in frames.drain(..) {
                frame.ask_for_stamp(StampId(core::num::NonZeroU32::new(7).unwrap()));
                let copy = out.copy(&frame);
                out.send(Port(0), frame);
                out.send(Port(0), copy);
            }
        }

        fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
            self.0.send(*event).unwrap();
        }
    }

    #[test]
    fn a_departure_is_told_at_its_time_and_not_before_and_that_of_no_other_frame() {
        let (sender, told) = channel();
        let mut driver = Driver::new(Member {
            name: "stamped".into(),
            node: Box::new(Stamped(sender)),
        });
        driver.frame(Time::from_us(1), Port(0), Frame::new(&[0; 60]));
        // The second found no room: it never left.
        let mut departures = [Some(Time::from_us(9)), None].into_iter();
        driver.hand_on(|_| Ok(departures.next().unwrap()));
        assert_eq!(driver.next_wake(), Some(Time::from_us(9)));
        driver.wake(Time::from_us(8));
        assert_eq!(told.try_iter().count(), 0);
        driver.wake(Time::from_us(9));
        let what = What::Departed(StampId(core::num::NonZeroU32::new(7).unwrap()));
        let (at, port) = (Time::from_us(9), Port(0));
        let events: Vec<Event> = told.try_iter().collect();
        assert_eq!(events, [Event { at, port, what }]);
        assert_eq!(driver.next_wake(), None);
    }

    #[test]
    fn time_does_not_go_back_and_no_frame_is_lost_silently() {
        let (mut driver, told) = driver();
        let (late, early) = (Time::from_us(7), Time::from_us(5));
        driver.frame(late, Port(0), Frame::new(&[0; 60]));
        let mut lot: Vec<Frame> = (0..3).map(|_| Frame::new(&[0; 60])).collect();
        driver.frames(early, Port(0), &mut lot);
        assert!(lot.is_empty());
        let event = Event {
            at: early,
            port: Port(0),
            what: What::Link(false),
        };
        driver.event(early, &event);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [late; 3]);
        driver.refuse(Refusal::Crowd, 4);
        let drops = driver.outcome().drops;
        let drops: Vec<_> = drops.iter().map(|(why, n)| (why.as_str(), *n)).collect();
        assert_eq!(
            drops,
            [(LEFT, 2), ("more than 4,194,304 frames under way", 4)]
        );
    }

    #[test]
    fn statistics_are_due_when_they_are_too_old() {
        let (mut driver, _told) = driver();
        let us = Time::from_us;
        let at = [0, 1, 999, 1_000, 1_500, 2_500, 3_400];
        let due: Vec<bool> = at.map(|at| driver.statistics_are_due(us(at))).into();
        assert_eq!(due, [true, false, false, true, false, true, false]);
    }
}
