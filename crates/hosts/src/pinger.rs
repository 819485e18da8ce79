//! A service that sends echo requests on demand while its node runs, as `ping` and `traceroute` do at a machine's shell.
//!
//! As long as nothing is asked it does nothing. Finding the MAC address of the next hop is part of the round trip.

use alloc::boxed::Box;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::header::{self, ETHERNET, ICMP, ICMPV6};
use ip::icmp::{self, Report};
use ip::service::{Link, ROUTED, Service};
use node::{Frame, Out, Time};
use packet::checksum::checksum;

/// Identifier of its echo requests; those of a host's programs are their places.
const IDENTIFIER: u16 = u16::MAX;
/// Bytes of data after the ICMP header, as of ping(8).
const SIZE: usize = 56;

/// An echo request that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Destination.
    pub to: IpAddr,
    /// Its number, by which its answer is known.
    pub number: u16,
    /// Hop limit or TTL.
    pub hops: u8,
}

/// Source of questions, and receiver of their answers. The service looks for questions whenever its node is woken.
pub trait Questions: Send {
    /// Whether there is a question.
    fn is_due(&self) -> bool;
    /// The next question.
    fn next(&mut self) -> Option<Question>;
    /// There is no route to the destination of question `number`.
    fn no_route(&mut self, number: u16);
    /// The first bit of the answer to question `number` arrived at this time from this address: an echo reply, or with `error` an
    /// ICMP error of this type and code.
    fn answered(&mut self, arrived: Time, number: u16, from: IpAddr, error: Option<[u8; 2]>);
}

/// The service.
pub struct Pinger {
    questions: Box<dyn Questions>,
}

impl Pinger {
    /// A pinger.
    pub fn new(questions: Box<dyn Questions>) -> Pinger {
        Pinger { questions }
    }
}

impl fmt::Debug for Pinger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinger").finish_non_exhaustive()
    }
}

impl Service for Pinger {
    fn handle_frame(
        &mut self,
        _: Time,
        _: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(packet) = header::read(&frame).filter(|one| header::is_valid(&frame, one)) else {
            return Some(frame);
        };
        if let Some((IDENTIFIER, number)) = icmp::echo_reply(&frame, &packet) {
            self.questions
                .answered(frame.arrived(), number, packet.source, None);
            out.done(frame);
            return None;
        }
        let Some(report) = Report::read(&frame, &packet) else {
            return Some(frame);
        };
        let request = match report.protocol {
            ICMP => 8,
            ICMPV6 => 128,
            _ => return Some(frame),
        };
        let [kind, _, _, _, identifier @ .., high, low] = report.begin;
        if kind != request || u16::from_be_bytes(identifier) != IDENTIFIER {
            return Some(frame);
        }
        let number = u16::from_be_bytes([high, low]);
        let error = Some(report.kind);
        self.questions
            .answered(frame.arrived(), number, packet.source, error);
        out.done(frame);
        None
    }

    fn wakes_at_start(&self) -> bool {
        false
    }

    fn wake(&mut self, _: Time, links: &[Link<'_>], out: &mut Out) {
        while let Some(question) = self.questions.next() {
            // The only link of a host has all its routes; a router looks into its tables.
            if let [link] = links
                && link.interface.source(question.to).is_none()
            {
                self.questions.no_route(question.number);
                continue;
            }
            let none: IpAddr = match question.to {
                IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let mut frame = out.frame();
            let number = (IDENTIFIER, question.number);
            icmp::write_echo(&mut frame, none, question.to, number, SIZE);
            let ip = &mut frame[ETHERNET..];
            match question.to {
                IpAddr::V4(_) => {
                    ip[8] = question.hops;
                    ip[10..12].fill(0);
                    let sum = checksum(&ip[..20]);
                    ip[10..12].copy_from_slice(&sum.to_be_bytes());
                }
                IpAddr::V6(_) => ip[7] = question.hops,
            }
            out.send(ROUTED, frame);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.questions.is_due().then_some(Time::ZERO)
    }
}
