//! Connections that packets announce to helpers, and their translation by a NAT, as in Linux's nf_nat_ftp and nf_nat_tftp.
//!
//! The tracker reads a packet as it leaves. If its own end of the connection is behind a NAT, the caller finds the endpoint by which
//! the other end can open the connection, and sets it; the tracker then writes it into the data of FTP.

use super::helper::{self, Announced, Expected, Helper, Text};
use super::table::status;
use super::{Direction, Headers, Place, State, Tracked, Tracker, Tuple, sequence};
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use node::Frame;
use packet::checksum::checksum;
use packet::ipv4::protocol;
use packet::tcp::TcpView;

/// A packet whose announcement cannot be followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreadable;

/// A connection that a packet announces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announcement {
    expected: Expected,
    /// Its place in the data of FTP.
    text: Option<Text>,
    /// The endpoint that awaits the connection, as its own host knows it.
    awaiting: (IpAddr, u16),
    /// Whether a NAT translates the packet's connection.
    is_translated: bool,
}

impl Announcement {
    /// The endpoint of a host behind a NAT that awaits the connection; `None` of any other host.
    pub fn behind_nat(&self) -> Option<(Ipv4Addr, u16)> {
        match self.awaiting {
            (IpAddr::V4(own), port)
                if self.is_translated && self.expected.destination != self.awaiting.0 =>
            {
                Some((own, port))
            }
            _ => None,
        }
    }

    /// Transport protocol, host that opens the connection, and endpoint to which it opens it.
    pub fn ends(&self) -> Option<(u8, Ipv4Addr, SocketAddrV4)> {
        ends(&self.expected)
    }

    /// Sets the port to which the connection is opened.
    pub fn set_port(&mut self, port: u16) {
        self.expected.port = port;
    }
}

fn ends(expected: &Expected) -> Option<(u8, Ipv4Addr, SocketAddrV4)> {
    match (expected.source, expected.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let to = SocketAddrV4::new(to, expected.port);
            Some((expected.protocol, from, to))
        }
        _ => None,
    }
}

impl Tracker {
    /// The connection that a packet announces to its connection's helper. The frame is as it leaves, after its translation.
    ///
    /// # Errors
    /// When the packet must be dropped: its announcement is cut off.
    pub(crate) fn announced(
        &mut self,
        tracked: &Tracked,
        frame: &[u8],
        translates: bool,
    ) -> Result<Option<Announcement>, Unreadable> {
        let Some(entry) = self.entry(tracked).filter(|entry| entry.helper.is_some()) else {
            return Ok(None);
        };
        let Some(headers) = Headers::read(frame, ip::header::ETHERNET, false) else {
            return Ok(None);
        };
        let (helper, original, mut reply) = (entry.helper, entry.original, entry.reply);
        // A new connection's packet shows how it is translated.
        if translates
            && tracked.direction == Direction::Original
            && let Some(shown) =
                Tuple::read(original.zone, frame, &headers).and_then(Tuple::inverse)
        {
            reply = shown;
        }
        let ways = match tracked.direction {
            Direction::Original => [original, reply],
            Direction::Reply => [reply, original],
        };
        let (announced, own) = match (helper, tracked.place) {
            (Some(Helper::Tftp), _) => {
                let announced = helper::tftp(reply, frame, &headers);
                (announced, Some((original.source, original.ids[0])))
            }
            // A helper reads data only after packets from both sides, and does not translate from one version to the other.
            (Some(Helper::Ftp), Place::Confirmed(number))
                if tracked.state == State::Established
                    && original.source.is_ipv4() == reply.source.is_ipv4() =>
            {
                let side = tracked.direction as usize;
                let help = self.table.help(number);
                (help.ftp(side, ways, frame, &headers), None)
            }
            _ => (Announced::Nothing, None),
        };
        match announced {
            Announced::Nothing => Ok(None),
            Announced::Partly => Err(Unreadable),
            Announced::Connection(expected, text) => Ok(Some(Announcement {
                expected,
                text,
                awaiting: own.unwrap_or((ways[0].source, expected.port)),
                is_translated: original.inverse() != Some(reply),
            })),
        }
    }

    /// Whether the connection that a packet announces may be expected: no other connection has announced the same.
    pub(crate) fn may_expect(&self, tracked: &Tracked, announcement: &Announcement) -> bool {
        let number = match tracked.place {
            Place::Confirmed(number) => Some(number),
            _ => None,
        };
        let expected = &announcement.expected;
        self.table.may_expect(self.now, number, expected)
    }

    /// Expects the connection that a packet, whose connection is confirmed, has announced. Behind a NAT the endpoint in its data
    /// becomes that to which the connection will be opened.
    pub(crate) fn expect(
        &mut self,
        tracked: &Tracked,
        announcement: Announcement,
        frame: &mut Frame,
    ) {
        let Place::Confirmed(number) = tracked.place else {
            return;
        };
        self.table.expect(self.now, number, announcement.expected);
        if let (Some(text), true) = (announcement.text, announcement.is_translated)
            && let Some((_, _, to)) = ends(&announcement.expected)
            && let Some((sequence, by)) = rewrite(frame, &text, to)
        {
            self.table.help(number).shifts[tracked.direction as usize].note(sequence, by);
        }
    }

    /// Changes the sequence numbers of a packet in a connection whose data has been changed; `false` when it must be dropped, since
    /// its options are broken.
    pub(crate) fn shift_sequence(&self, tracked: &Tracked, frame: &mut [u8]) -> bool {
        let shifts = match tracked.place {
            Place::Confirmed(number) if tracked.state == State::Established => {
                self.table.shifts(number)
            }
            _ => None,
        };
        let Some(shifts) = shifts else {
            return true;
        };
        let headers = Headers::read(frame, ip::header::ETHERNET, false);
        let is_tcp = |headers: &Headers| headers.protocol == protocol::TCP;
        let Some(headers) = headers.filter(is_tcp) else {
            return true;
        };
        let (own, other) = (tracked.direction, tracked.direction.other());
        let tcp = &mut frame[headers.payload..headers.end];
        sequence::translate(tcp, &shifts[own as usize], &shifts[other as usize])
    }

    /// Whether a packet begins a connection that a helper expects.
    pub(crate) fn is_expected(&self, tracked: &Tracked) -> bool {
        let is_new = tracked.place == Place::Pending(self.serial);
        is_new && self.pending.status & status::EXPECTED != 0
    }

    /// The next expectation that expired unused: transport protocol, host that was expected to open the connection, and its
    /// destination.
    pub(crate) fn poll_withdrawn(&mut self) -> Option<(u8, Ipv4Addr, SocketAddrV4)> {
        loop {
            let expected = self.table.poll_withdrawn()?;
            if let Some(ends) = ends(&expected) {
                return Some(ends);
            }
        }
    }
}

/// Writes another endpoint into the announcement in a segment's data, and the lengths and checksums. Returns the segment's sequence
/// number and the number of bytes by which it has become longer, in two's complement.
fn rewrite(frame: &mut Frame, text: &Text, to: SocketAddrV4) -> Option<(u32, u32)> {
    /// Offsets in an IPv4 header, and in that of TCP.
    const LENGTH: usize = 2;
    const CHECKSUMS: [usize; 2] = [10, 16];
    let headers = Headers::read(frame, ip::header::ETHERNET, false)?;
    let segment = TcpView::new(headers.upper(frame)?).ok()?;
    let (sequence, data) = (segment.sequence(), segment.payload().len());
    let new = text.of(*to.ip(), to.port());
    let at = headers.end - data + text.at;
    // The length field limits the length of a packet.
    let length = headers.end - headers.ip + new.len() - text.length;
    let length = u16::try_from(length).ok()?;
    match new.len().checked_sub(text.length) {
        Some(more) => drop(frame.insert(at + text.length, more)),
        None => frame.remove(at + new.len(), text.length - new.len()),
    }
    frame[at..at + new.len()].copy_from_slice(new.as_bytes());
    let by = new.len().wrapping_sub(text.length);
    let end = headers.end.wrapping_add(by);
    let ip = headers.ip;
    frame[ip + LENGTH..ip + LENGTH + 2].copy_from_slice(&length.to_be_bytes());
    let places = [ip + CHECKSUMS[0], headers.payload + CHECKSUMS[1]];
    for place in places {
        frame[place..place + 2].fill(0);
    }
    let pseudo = ip::header::pseudo(headers.source, headers.destination, protocol::TCP);
    let segment = &frame[headers.payload..end];
    let sums = [
        checksum(&frame[ip..headers.payload]),
        pseudo.sum(segment.len()).plus(segment).checksum(),
    ];
    for (place, sum) in places.into_iter().zip(sums) {
        frame[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    }
    Some((sequence, by as u32))
}
