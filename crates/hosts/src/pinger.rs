//! A host that also pings whom somebody asks it to, while it runs: what `ping` is on a machine, beside the machine's own programs.
//!
//! As long as it is asked nothing, the host does to the last bit what it does alone. Its echo requests are those of the program
//! [`ping`](crate::program::ping); whom it does not know on the link yet it asks for first, and that is part of the round trip.

use crate::endpoint::Egress;
use crate::host::{ARP, Config, check};
use crate::ip::{self, ETHERNET};
use crate::neighbours::Neighbours;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;
use node::ConfigError;
use node::event::Event;
use node::outcome::Table;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time, When};

/// The identifier of its echo requests; those of a host's programs are their places.
const IDENTIFIER: u16 = u16::MAX;
/// Bytes behind the ICMP header, as of ping(8).
const SIZE: usize = 56;

/// Who asks. The host looks for questions whenever it is woken.
pub trait Questions: Send {
    /// Whom to ping next, and the question's number.
    fn next(&mut self) -> Option<(IpAddr, u16)>;
    /// There is no way to whom question `number` is about.
    fn no_route(&mut self, number: u16);
    /// The first bit of the answer to question `number` arrived at this time.
    fn answered(&mut self, arrived: Time, number: u16);
}

/// A host, and what it is asked.
pub struct Pinger {
    host: Box<dyn Node>,
    mac: [u8; 6],
    neighbours: Neighbours,
    questions: Box<dyn Questions>,
    /// What is for the host among the frames at hand.
    others: Vec<Frame>,
}

impl Pinger {
    /// Puts questions beside a host that was made from this configuration.
    ///
    /// # Errors
    /// When no host could be made from it.
    pub fn new(
        host: Box<dyn Node>,
        config: &Config,
        questions: Box<dyn Questions>,
    ) -> Result<Pinger, ConfigError> {
        let (networks, mac) = check(config, false)?;
        Ok(Pinger {
            host,
            mac,
            neighbours: Neighbours::new(mac, networks, config.gateway.clone()),
            questions,
            others: Vec::new(),
        })
    }

    /// Sends what is asked for.
    fn ask(&mut self, now: Time, out: &mut Out) {
        while let Some((to, number)) = self.questions.next() {
            // Who was silent before is asked for anew.
            self.neighbours.give_up(out);
            let Some(from) = self.neighbours.source(to) else {
                self.questions.no_route(number);
                continue;
            };
            let mut frame = out.frame();
            ip::write_echo(&mut frame, from, to, (IDENTIFIER, number), SIZE);
            self.neighbours.send(now, to, When::Now, frame, out);
        }
    }

    /// Whether a frame is the answer to a question; what it tells of neighbours is heard in any case.
    fn hear(&mut self, frame: &Frame, out: &mut Out) -> bool {
        let Some(header) = frame.first_chunk::<ETHERNET>() else {
            return false;
        };
        if header[0] & 1 == 0 && header[..6] != self.mac {
            return false;
        }
        if header[12..14] == ARP {
            self.neighbours.hear_arp(frame, out);
            return false;
        }
        let Some(packet) = ip::read(frame) else {
            return false;
        };
        if packet.protocol == ip::ICMPV6 {
            self.neighbours.hear_icmpv6(frame, out);
        }
        match ip::echo_reply(frame, &packet) {
            Some((IDENTIFIER, number)) if ip::is_valid(frame, &packet) => {
                self.questions.answered(frame.arrived(), number);
                true
            }
            _ => false,
        }
    }
}

impl Node for Pinger {
    fn properties(&self) -> Properties {
        self.host.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.hear(&frame, out) {
                true => out.done(frame),
                false => self.others.push(frame),
            }
        }
        self.host.frames(now, port, &mut self.others, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.ask(now, out);
        self.neighbours.wake(now, out);
        self.host.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let times = [self.host.next_wake(), self.neighbours.next()];
        times.into_iter().flatten().min()
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        self.host.event(now, event, out);
    }

    fn statistics(&self) -> Statistics {
        self.host.statistics()
    }

    fn tables(&self, now: Time) -> Vec<Table> {
        self.host.tables(now)
    }
}
