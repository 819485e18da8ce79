//! What a world tells a node of its surroundings: links, interfaces, queues, routes, neighbours.
//!
//! A link that goes down or comes up is told when it does; up is what a node takes links for that it was never told of. A
//! node that acts by how long its output queue is - paper 004 section 4.2 gives it the statistics of
//! interfaces and queues - says so by [`Properties::statistics_age`](crate::Properties::statistics_age). Before a call of
//! [`frames`](crate::Node::frames) or [`wake`](crate::Node::wake), if the statistics that the node has are older than
//! that, it is told of each port's interface and queue; of routes and neighbours at the beginning and when they change, in
//! worlds that have any. Of frames whose departure a node asked for it is told when they have left. Old ones may come late: [`Event::at`] says how old they are. They come the same from
//! every world: from the links' queues in simulated time, from the kernel by rtnetlink on live ports.

use crate::{Port, Rate, StampId, Time};
use core::net::IpAddr;

/// Something that has happened, or that a world knows, and when it was so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened, or was read. Its age is the time that has passed since.
    pub at: Time,
    /// The port of the node that it is about.
    pub port: Port,
    /// What it is.
    pub what: What,
}

/// What has happened, or is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The link at the port has come up (`true`), or gone down. What is sent by a port without a link is lost.
    Link(bool),
    /// An interface's state and counters.
    Interface(Interface),
    /// What waits to leave by the port: all of it, or one class of it.
    Queue(Queue),
    /// A way by which the port's packets may go, or one that is no more.
    Route(Route),
    /// A neighbour that the port leads to.
    Neighbour(Neighbour),
    /// The first bit of a frame left by the port at [`Event::at`], of which the node had
    /// [asked](crate::Frame::ask_for_stamp) that. Not told of a frame that never left, such as one that found its queue full. Exact
    /// where the world is; on live ports it is when the frame was given to the system.
    Departed(StampId),
}

/// An interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Whether there is a link.
    pub up: bool,
    /// Bits a second, where that is known.
    pub rate: Option<Rate>,
    /// The longest packet behind the Ethernet header, bytes; zero where there is no such limit.
    pub mtu: u32,
    /// What has come in.
    pub received: Counts,
    /// What has gone out.
    pub sent: Counts,
}

/// What passed an interface one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes of those, as the interface counts them.
    pub bytes: u64,
    /// Packets given up for lack of room.
    pub dropped: u64,
    /// Packets that were in error.
    pub errors: u64,
}

/// What waits to leave, and what has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Zero for all that waits at the port; else the handle of the queueing discipline or class below it
    /// that this is about, as the kernel writes it: 16 bits of major, 16 bits of minor number.
    pub class: u32,
    /// Packets that wait.
    pub packets: u32,
    /// Bytes that wait.
    pub bytes: u64,
    /// Bits a second at which it empties, where that is known: what it is shaped to, or the link's.
    pub rate: Option<Rate>,
    /// What each packet costs at that rate besides its bytes: on an Ethernet line preamble, FCS and gap, 24 bytes.
    pub overhead: u32,
    /// Packets that have left.
    pub sent_packets: u64,
    /// Bytes that have left.
    pub sent_bytes: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Times that it had to wait for its rate.
    pub overlimits: u64,
}

impl Queue {
    /// How long a packet that comes now waits: what is before it, at the rate at which that leaves. `None`
    /// without a rate.
    pub fn wait(&self) -> Option<Time> {
        let rate = self.rate?;
        let overhead = u64::from(self.packets) * u64::from(self.overhead);
        let bytes = self.bytes.saturating_add(overhead);
        Some(rate.time_of(bytes.saturating_mul(8), 0).0)
    }
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it leads: the addresses that share the first `prefix` bits with this one.
    pub to: IpAddr,
    /// How many bits.
    pub prefix: u8,
    /// The next router, unless the destination is a neighbour.
    pub via: Option<IpAddr>,
    /// The lower, the better.
    pub metric: u32,
    /// Whether it is there; `false` once it has gone.
    pub there: bool,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its address.
    pub address: IpAddr,
    /// Its Ethernet address, once that is known.
    pub mac: Option<[u8; 6]>,
    /// Whether it is known to answer.
    pub reachable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_takes_its_time_at_the_rate() {
        let queue = Queue {
            bytes: 125_000,
            rate: Rate::from_bits_per_second(100_000_000),
            ..Queue::default()
        };
        assert_eq!(queue.wait(), Some(Time::from_ms(10)));
        let line = Queue {
            packets: 500,
            overhead: 25,
            ..queue
        };
        assert_eq!(line.wait(), Some(Time::from_ms(11)));
        let unknown = Queue {
            rate: None,
            ..queue
        };
        assert_eq!(unknown.wait(), None);
    }
}
