//! The rules of the contract, kept in one place for every world.

use crate::outcome::{NodeOutcome, Statistics};
use crate::{Departure, Event, Frame, Member, Node, Out, Port, Properties, Time};
use alloc::boxed::Box;
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
    told: Time,
    /// When statistics are due next.
    due: Time,
    refused: [u64; Refusal::ALL.len()],
    /// A lot of one.
    single: Vec<Frame>,
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
            told: Time::ZERO,
            due: Time::ZERO,
            refused: [0; Refusal::ALL.len()],
            single: Vec::with_capacity(1),
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
    pub fn told(&self) -> Time {
        self.told
    }

    /// Gives the node frames that have arrived; the list is empty afterwards.
    #[inline]
    pub fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>) {
        self.told = self.told.max(now);
        self.node.frames(self.told, port, frames, &mut self.out);
        if !frames.is_empty() {
            give_up(frames, &mut self.out);
        }
    }

    /// Gives the node one frame.
    #[inline]
    pub fn frame(&mut self, now: Time, port: Port, frame: Frame) {
        self.told = self.told.max(now);
        self.single.push(frame);
        self.node
            .frames(self.told, port, &mut self.single, &mut self.out);
        if !self.single.is_empty() {
            give_up(&mut self.single, &mut self.out);
        }
    }

    /// Wakes the node.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        self.told = self.told.max(now);
        self.node.wake(self.told, &mut self.out);
    }

    /// When the node wants to be woken.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        self.node.next_wake()
    }

    /// Tells the node of an event.
    pub fn event(&mut self, now: Time, event: &Event) {
        self.told = self.told.max(now);
        self.node.event(self.told, event, &mut self.out);
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
    pub fn hand_on(&mut self, mut send: impl FnMut(Departure) -> Result<(), Refusal>) {
        for departure in self.out.sends() {
            if let Err(refusal) = send(departure) {
                self.refused[refusal as usize] += 1;
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

    /// What the node has come to.
    pub fn outcome(&self) -> NodeOutcome {
        let Statistics { counters, flows } = self.node.statistics();
        let own = self.out.drops().iter().copied();
        let refused = Refusal::ALL.iter().zip(self.refused);
        let refused = refused.map(|(&(_, reason), count)| (reason, count));
        let drops = own.chain(refused).filter(|&(_, count)| count > 0);
        NodeOutcome {
            name: self.name.clone(),
            flows,
            counters,
            drops: drops
                .map(|(reason, count)| (reason.into(), count))
                .collect(),
        }
    }
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
    use crate::event::What;
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
