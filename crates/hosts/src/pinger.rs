//! A host that also pings whom somebody asks it to, while it runs: what `ping` is on a machine, beside the machine's own programs.
//!
//! As long as it is asked nothing, the host does to the last bit what it does alone. Its echo requests are those of the program
//! [`ping`](crate::program::ping); whom it does not know on the link yet it asks for first, and that is part of the round trip.

use crate::host::{Config, check, interface};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::{Interface, header, icmp};
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
    interface: Interface,
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
            interface: interface(config, networks, mac, 0),
            questions,
            others: Vec::new(),
        })
    }

    /// Sends what is asked for.
    fn ask(&mut self, now: Time, out: &mut Out) {
        while let Some((to, number)) = self.questions.next() {
            // Who was silent before is asked for anew.
            self.interface.give_up_waiting(out);
            let Some(from) = self.interface.source(to) else {
                self.questions.no_route(number);
                continue;
            };
            let mut frame = out.frame();
            icmp::write_echo(&mut frame, from, to, (IDENTIFIER, number), SIZE);
            self.interface.send(now, to, When::Now, frame, out);
        }
    }

    /// Whether a frame is the answer to a question; what it tells of neighbours is heard in any case.
    fn hear(&mut self, now: Time, frame: &Frame, out: &mut Out) -> bool {
        let own = self.interface.mac();
        if frame
            .first()
            .is_none_or(|first| first & 1 == 0 && !frame.starts_with(&own))
        {
            return false;
        }
        self.interface.overhear(now, frame, out);
        let Some(packet) = header::read(frame) else {
            return false;
        };
        match icmp::echo_reply(frame, &packet) {
            Some((IDENTIFIER, number)) if header::is_valid(frame, &packet) => {
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
            match self.hear(now, &frame, out) {
                true => out.done(frame),
                false => self.others.push(frame),
            }
        }
        self.host.frames(now, port, &mut self.others, out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.ask(now, out);
        self.interface.poll_transmit(now, out);
        self.host.wake(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let times = [self.host.next_wake(), self.interface.poll_timeout()];
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
