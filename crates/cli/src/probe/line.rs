//! One end of a test at a socket: what has come goes in, what it gives goes out, at the time that it says.

use ::capture::clock;
use live::datagram::Datagrams;
use node::Time;
use nodes::bandwidth::capacity::client::Client;
use nodes::bandwidth::capacity::server::Test;
use nodes::bandwidth::capacity::{Clock, Transmit};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A client, or a server's test.
pub trait End {
    fn next_wake(&self) -> Option<Time>;
    fn wake(&mut self, now: Time);
    fn handle(&mut self, now: Time, port: u16, bytes: &[u8]);
    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit>;
    fn unreachable(&mut self);
}

macro_rules! is_end {
    ($type:ty, |$own:ident, $now:ident, $port:ident, $bytes:ident| $handle:expr) => {
        impl End for $type {
            fn next_wake(&self) -> Option<Time> {
                self.next_wake()
            }
            fn wake(&mut self, now: Time) {
                self.wake(now);
            }
            fn handle(&mut self, $now: Time, $port: u16, $bytes: &[u8]) {
                let $own = self;
                $handle;
            }
            fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
                self.poll_transmit(now, out)
            }
            fn unreachable(&mut self) {
                self.unreachable();
            }
        }
    };
}

is_end!(Client, |own, now, port, bytes| own.handle(now, port, bytes));
// Its socket hears the client's port alone.
is_end!(Test, |own, now, _port, bytes| own.handle(now, bytes));

/// A socket that is connected to the other end.
pub struct Line {
    pub socket: Datagrams,
    peer: SocketAddr,
    start_ns: u64,
    /// What was given and is not sent yet, from `sent` on, and how long its datagrams are.
    out: Vec<u8>,
    sent: usize,
    segment: usize,
    /// Times that the system had no room.
    pub waited: u64,
}

impl Line {
    pub fn new(socket: Datagrams, peer: SocketAddr) -> Line {
        Line {
            socket,
            peer,
            start_ns: clock::now_ns(),
            out: Vec::new(),
            sent: 0,
            segment: 0,
            waited: 0,
        }
    }

    /// What makes stamps of its time.
    pub fn clock(&self) -> Clock {
        Clock {
            epoch_ns: clock::epoch_ns() + self.start_ns,
        }
    }

    /// The time, since it was made.
    pub fn now(&self) -> Time {
        self.time(clock::now_ns())
    }

    fn time(&self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.start_ns))
    }

    /// One round, which takes `most` at the most; false when there is nothing more to do.
    ///
    /// # Errors
    /// What the system says, but for that nobody is there: that the end hears.
    pub fn turn(&mut self, end: &mut impl End, most: Time) -> io::Result<bool> {
        let start_ns = self.start_ns;
        let received = self.socket.receive(&mut |it| {
            let at = Time::from_ns(it.at_ns.saturating_sub(start_ns));
            end.handle(at, it.from.port(), it.bytes);
        });
        heard(received, end)?;
        let now = self.now();
        if end.next_wake().is_some_and(|at| at <= now) {
            end.wake(now);
        }
        let room = self.give(end)?;
        let wait = match end.next_wake() {
            None if room => return Ok(false),
            Some(at) if room => (at - self.now().min(at)).min(most),
            // What is to be sent waits for room, and all else with it.
            _ => most,
        };
        if wait > Time::ZERO || !room {
            self.socket
                .wait(!room, Duration::from_nanos(wait.as_ns()))?;
        }
        Ok(true)
    }

    /// Sends what there is; false when the system has no room for it.
    fn give(&mut self, end: &mut impl End) -> io::Result<bool> {
        loop {
            while self.sent < self.out.len() {
                match self.socket.send(&self.out[self.sent..], self.segment, None) {
                    Ok(0) => {
                        self.waited += 1;
                        return Ok(false);
                    }
                    Ok(bytes) => self.sent += bytes,
                    // It is the answer to an earlier datagram. This one is given up.
                    Err(error) => {
                        heard(Err(error), end)?;
                        self.sent = self.out.len();
                    }
                }
            }
            self.out.clear();
            self.sent = 0;
            let now = self.now();
            let Some(transmit) = end.poll_transmit(now, &mut self.out) else {
                return Ok(true);
            };
            self.segment = transmit.segment;
            if let Some(port) = transmit.port.filter(|port| *port != self.peer.port()) {
                self.peer.set_port(port);
                self.socket.connect(self.peer)?;
            }
        }
    }
}

fn heard(result: io::Result<usize>, end: &mut impl End) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            end.unreachable();
            Ok(())
        }
        Err(error) => Err(error),
    }
}
