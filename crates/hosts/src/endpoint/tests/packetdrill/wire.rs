//! Packets that arrive at a machine, and those that leave it.

use super::super::super::segment::{Header, Options, fill_checksum};
use super::super::super::{Egress, Endpoint};
use super::compare::difference;
use super::machine::{BEGIN, Machine, Tested};
use super::packet::{Packet, Segment, describe};
use core::net::IpAddr;
use node::{Frame, Out, Time, When};
use packet::tcp::flag::{ACK, FIN, RST, SYN};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Bytes of data in a packet that arrives at most: what an IPv4 packet holds.
const MAX_DATA: u32 = 65_000;
/// A segment that has left.
pub struct Left {
    at: Time,
    /// The connection that it is of.
    of: usize,
    segment: Segment,
    /// Whether it has not left before.
    is_new: bool,
    /// Whether data that the program has written is behind it.
    has_more: bool,
}

/// Frames of one endpoint.
#[derive(Default)]
pub struct Sent(Vec<Frame>);

impl Egress for Sent {
    fn send(&mut self, _: Time, _: IpAddr, _: When, frame: Frame, _: &mut Out) {
        self.0.push(frame);
    }
}

impl Machine {
    /// Keeps what an endpoint has sent, for the script.
    pub fn collect(&mut self, index: usize, sent: Sent) -> Result<(), String> {
        for frame in sent.0 {
            let connection = &mut self.connections[index];
            let segment = connection.mapping.segment(&frame)?;
            if self.tested != Tested::Connection(index) {
                continue;
            }
            let data = segment.sequence.wrapping_add(segment.length);
            let is_new = connection.mapping.note_end(data);
            let written = connection.mapping.written(&connection.end);
            self.left.push_back(Left {
                at: self.now,
                of: index,
                is_new,
                has_more: data != written && segment.length > 0,
                segment,
            });
        }
        Ok(())
    }

    /// A packet arrives.
    pub fn arrive(&mut self, packet: &Packet) -> Result<(), String> {
        let index = match self.tested {
            Tested::Connection(index) => index,
            Tested::Listener(listener) => self.child(Some(listener)),
            Tested::Nothing => self.child(None),
        };
        let segment = match packet {
            Packet::Segment(segment) => segment,
            Packet::TooBig { mtu, sequence } => {
                let connection = &mut self.connections[index];
                let sequence = connection.mapping.own(*sequence);
                let remote = connection.remote.ip();
                connection.end.too_big(sequence, *mtu, remote);
                return self.drive(index);
            }
        };
        let frame = self.frame(index, segment)?;
        let connection = &mut self.connections[index];
        let mut sent = Sent::default();
        if segment.flags & RST != 0 {
            connection.is_reset = true;
        }
        if segment.length > 0 || segment.flags & SYN != 0 {
            connection.data_at = self.now;
        }
        if connection.end.is_closed() {
            self.stack
                .refuse(self.now, &frame, &mut sent, &mut self.out);
        } else {
            // The reason of a drop is not checked.
            let _ =
                connection
                    .end
                    .segment(&mut self.stack, self.now, &frame, &mut sent, &mut self.out);
        }
        self.collect(index, sent)?;
        self.drive(index)
    }

    /// A connection for the next first segment.
    fn child(&mut self, listener: Option<i64>) -> usize {
        let (own, remote) = self.ends(false);
        let options = match listener.and_then(|listener| self.descriptors.get(&listener)) {
            Some(descriptor) => descriptor.options,
            None => self.settings.options,
        };
        let mut end = Endpoint::waiting(&self.stack, own, options);
        if listener.is_none() {
            end.close();
        } else if self.settings.has_timestamps {
            end.offer_timestamps(self.now, self.offset.wrapping_mul(3));
        }
        let index = self.adopt(end, own, remote);
        self.connections[index].listener = listener;
        index
    }

    /// The frame of a segment that arrives.
    fn frame(&mut self, index: usize, segment: &Segment) -> Result<Frame, String> {
        if segment.length > MAX_DATA {
            return Err(format!("no packet has {} bytes of data", segment.length));
        }
        let connection = &mut self.connections[index];
        let mapping = &mut connection.mapping;
        let mut options = Options::new();
        for option in segment.options.iter().flatten() {
            let bytes = mapping.option(option, segment.flags)?;
            if options.length() + bytes.len().next_multiple_of(4) > 40 {
                return Err("options of more than 40 bytes".to_string());
            }
            options.push(&bytes);
            options.pad();
        }
        let (echoes, is_accurate) = super::super::super::ecn::flags(segment.bits());
        let is_sent_back = segment.flags & ACK != 0;
        let header = Header {
            own: connection.remote,
            remote: connection.own,
            sequence: mapping.far(segment.sequence),
            acknowledgement: match is_sent_back {
                true => mapping.own(segment.acknowledgement),
                false => 0,
            },
            flags: segment.flags | echoes,
            is_accurate,
            window: segment.window.unwrap_or(0),
            options,
        };
        let (mut frame, begins) = header.frame(segment.length as usize, &mut self.out);
        packet::ecn::set(&mut frame[14..], segment.codepoint.unwrap_or(0));
        let (source, destination) = (connection.remote.ip(), connection.own.ip());
        fill_checksum(&mut frame[begins..], source, destination);
        Ok(frame)
    }

    /// A packet must leave, or have left.
    pub fn leaves(&mut self, packet: &Packet, from: Time, to: Time) -> Result<(), String> {
        let Packet::Segment(wanted) = packet else {
            return Err("not in the subset: ICMP that leaves".to_string());
        };
        if wanted.flags & SYN != 0 && wanted.sequence != 0 {
            return Err("not in the subset: first numbers of the own end other than 0".to_string());
        }
        let earliest = Time::from_ps(from.as_ps().saturating_sub(self.tolerance.as_ps()));
        let latest = to + self.tolerance;
        let first = self.next_left(latest)?;
        let Some(first) = first else {
            let wanted = describe(wanted);
            return Err(format!("nothing leaves, and the script wants {wanted}"));
        };
        let mut whole = first.segment.clone();
        let mut has_more = first.has_more;
        while whole.length < wanted.length && whole.length > 0 && !self.is_strict {
            // Linux sends many segments as one packet, which is cut later.
            let end = whole.sequence.wrapping_add(whole.length);
            let Some(next) = self.next_left(latest)? else {
                break;
            };
            let fits = next.segment.sequence == end
                && next.segment.acknowledgement == whole.acknowledgement
                && next.segment.flags & (SYN | RST) == 0
                && whole.flags & FIN == 0;
            if !fits {
                self.left.push_front(next);
                break;
            }
            has_more = next.has_more;
            whole.length += next.segment.length;
            whole.flags |= next.segment.flags;
        }
        let ticks = |tick: Time| self.tolerance.as_ps().div_ceil(tick.as_ps());
        let ticks = self.tick.map(ticks);
        let mapping = &mut self.connections[first.of].mapping;
        let compared = difference(&whole, wanted, (first.is_new, has_more), &self.settings);
        let compared = compared.or_else(|| mapping.stamps_differ(&whole, wanted, ticks));
        if let Some(difference) = compared {
            let (left, wanted) = (describe(&whole), describe(wanted));
            return Err(format!(
                "{difference}: {left} left, and the script wants {wanted}"
            ));
        }
        if first.at < earliest || first.at > latest {
            let [at, from, to] = [first.at, from, to].map(|time| (time - BEGIN).as_secs_f64());
            let left = describe(&whole);
            return Err(format!(
                "{left} left at {at:.6} s, and the script wants it from {from:.6} to {to:.6} s"
            ));
        }
        Ok(())
    }

    /// The next segment that has left, or leaves until `latest`.
    fn next_left(&mut self, latest: Time) -> Result<Option<Left>, String> {
        while self.left.is_empty() {
            let due = self
                .connections
                .iter()
                .map(|connection| connection.due)
                .min();
            match due.filter(|due| *due <= latest) {
                Some(due) => self.advance(due)?,
                None => {
                    self.now = self.now.max(latest);
                    return Ok(None);
                }
            }
        }
        Ok(self.left.pop_front())
    }
}
