//! Answers to packets that no protocol of the host takes, and errors.

use super::{BAD_OPTIONS, Interface};
use crate::extensions::Upper;
use crate::header::{ETHERNET, ICMP, ICMPV6, Packet, TCP, UDP, UDP_HEADER};
use crate::icmp::{self, Error};
use crate::options;
use crate::reset;
use core::net::IpAddr;
use node::{Frame, Out, Time};
use packet::ipv4::protocol;

/// The port whose datagrams go back (RFC 862).
const ECHO_PORT: u16 = 7;

impl Interface {
    /// Answers a packet that no protocol of the host takes: UDP port 7 sends it back, another port is closed.
    pub fn unclaimed(&mut self, now: Time, mut frame: Frame, packet: &Packet, out: &mut Out) {
        let is_v4 = packet.source.is_ipv4();
        let mut end = packet.end;
        let port = match packet.protocol {
            UDP => {
                let datagram = &frame[packet.payload..packet.end];
                let Some((port, length)) = destination_port(datagram) else {
                    return self.give_up(frame, out);
                };
                // Bytes after the datagram's length do not belong to it.
                end = packet.payload + length;
                if self.udp_echo && port == ECHO_PORT {
                    return self.echo(frame, packet, out);
                }
                Error::Port
            }
            TCP if self.refuses && frame[0] & 1 == 0 => {
                let mut echoed = [0; options::MAX_OPTIONS];
                let Some(count) = self.echoed(now, &frame, packet.destination, &mut echoed) else {
                    return out.drop(frame, BAD_OPTIONS);
                };
                if !reset::write(&mut frame, packet) {
                    return self.give_up(frame, out);
                }
                if count > 0 {
                    options::replace(&mut frame, &echoed[..count]);
                }
                self.count(|counters| counters.refused += 1);
                icmp::turn(&mut frame, self.mac);
                return self.answer(frame, out);
            }
            TCP => return self.give_up(frame, out),
            ICMP if is_v4 => return self.give_up(frame, out),
            ICMPV6 if !is_v4 => return self.give_up(frame, out),
            // Headers of IPv6 that are not walked, and no payload at all.
            other if !is_v4 && (is_extension(other) || other == protocol::NONE) => {
                return self.give_up(frame, out);
            }
            _ if is_v4 => Error::Protocol(0),
            _ => Error::Protocol(Upper::of(&frame[ETHERNET..packet.end]).named as u32),
        };
        if !self.refuses {
            return self.give_up(frame, out);
        }
        self.counters.packets += 1;
        let packet = Packet { end, ..*packet };
        self.report(now, port, frame, &packet, out);
    }

    /// Sends an error about a packet to its sender, if the rules and the rate limit allow it.
    pub fn error(&mut self, now: Time, error: Error, frame: Frame, packet: &Packet, out: &mut Out) {
        self.report(now, error, frame, packet, out);
    }

    fn report(
        &mut self,
        now: Time,
        error: Error,
        mut frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) {
        let own = self.addresses.contains(packet.destination);
        let from = match own {
            true => Some(packet.destination),
            false => self.source(packet.source),
        };
        let written = from.is_some_and(|from| {
            let is_own = |address| self.addresses.contains(IpAddr::V4(address));
            error.write(now, &mut frame, packet.end, from, self.mac, is_own)
        });
        if !written {
            self.counters.ignored += 1;
            return out.done(frame);
        }
        if error.is_limited() && !self.limit.allows(now, packet.source) {
            return out.drop(frame, "rate limit of ICMP errors");
        }
        self.counters.refused += 1;
        self.answer(frame, out);
    }

    /// The options of an answer from the address `from` to a packet; `None` when there is no answer.
    pub(super) fn echoed(
        &self,
        now: Time,
        frame: &[u8],
        from: IpAddr,
        echoed: &mut [u8; options::MAX_OPTIONS],
    ) -> Option<usize> {
        match (from, options::length(frame)) {
            (IpAddr::V4(from), 1..) => {
                let is_own = |address| self.addresses.contains(IpAddr::V4(address));
                options::echo(now, frame, usize::MAX, from, is_own, echoed)
            }
            _ => Some(0),
        }
    }

    /// RFC 862. Addresses and ports change places, which leaves the checksum right.
    fn echo(&mut self, mut frame: Frame, packet: &Packet, out: &mut Out) {
        let datagram = &mut frame[packet.payload..packet.end];
        // Two echo services would never let go of each other.
        let from_echo = datagram[..2] == ECHO_PORT.to_be_bytes();
        let whole = datagram[4..6] == (datagram.len() as u16).to_be_bytes();
        if from_echo || !whole {
            return self.give_up(frame, out);
        }
        datagram[..4].rotate_left(2);
        frame.resize(packet.end);
        icmp::bare(&mut frame, packet);
        icmp::exchange(&mut frame, packet, packet.destination);
        self.count(|counters| counters.echoes += 1);
        icmp::turn(&mut frame, self.mac);
        self.answer(frame, out);
    }
}

/// Destination port and length of a datagram, in bytes; `None` when it is not whole.
fn destination_port(datagram: &[u8]) -> Option<(u16, usize)> {
    let header = datagram.first_chunk::<UDP_HEADER>()?;
    let [port, length] = [2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
    let whole = (UDP_HEADER..=datagram.len()).contains(&length.into());
    whole.then_some((port, length.into()))
}

/// Whether a next header of IPv6 is that of an extension header.
fn is_extension(next: u8) -> bool {
    matches!(
        next,
        protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::FRAGMENT
            | protocol::ESP
            | protocol::AUTHENTICATION
            | protocol::DESTINATION
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6
    )
}
