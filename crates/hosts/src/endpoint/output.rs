//! Segments that leave.

use super::round_trip::FIRST_TIMEOUT;
use super::segment::{self, ACK, FIN, HEADER, Header, MAX_BLOCKS, Options, PSH, RST, SYN};
use super::{Egress, Endpoint, MAX_TRIES, State, sender, timestamps};
use node::{Frame, Out, Time, When};

impl Endpoint {
    /// Sends everything that may leave now.
    pub(super) fn output(&mut self, now: Time, egress: &mut dyn Egress, out: &mut Out) {
        if core::mem::take(&mut self.resets) {
            self.send(now, self.sender.next(), RST | ACK, egress, out);
        }
        match self.state {
            State::Closed | State::Listen => {}
            State::SynSent | State::SynReceived => self.open(now, egress, out),
            _ => {
                while let Some(piece) = self.sender.transmit(now) {
                    self.send_piece(now, &piece, egress, out);
                }
                if self.receiver.due().is_some_and(|due| due <= now) {
                    self.send(now, self.sender.next(), ACK, egress, out);
                }
            }
        }
        match self.is_waiting() {
            true => self.heard = self.heard.or(Some(now)),
            false => self.heard = None,
        }
    }

    /// Sends the first segment, or sends it again.
    pub(super) fn open(&mut self, now: Time, egress: &mut dyn Egress, out: &mut Out) {
        let handshake = &mut self.handshake;
        if handshake.expires.is_some_and(|expires| expires > now) {
            return;
        }
        let opens = self.state == State::SynSent;
        if handshake.tries == MAX_TRIES[usize::from(!opens)] {
            return self.close_at_once();
        }
        handshake.sent = (handshake.tries == 0).then_some(now);
        handshake.expires = Some(now + FIRST_TIMEOUT * (1 << handshake.tries));
        handshake.tries += 1;
        let again = handshake.tries > 1;
        let number = handshake.number;
        self.sender.count_syn(again);
        let flags = if opens { SYN } else { SYN | ACK };
        self.send(now, number, flags, egress, out);
    }

    pub(super) fn header(&mut self, sequence: u32, flags: u8) -> Header {
        let mut options = Options::new();
        let has_acknowledgement = flags & ACK != 0;
        if flags & SYN != 0 {
            let [high, low] = (self.mss as u16).to_be_bytes();
            options.push(&[2, 4, high, low]);
            if !has_acknowledgement || self.sender.has_sack {
                options.push(&[1, 1, 4, 2]);
            }
            if !has_acknowledgement || self.scale.is_some() {
                options.push(&[1, 3, 3, self.receiver.scale()]);
            }
        }
        if self.timestamps.is_some() && flags & RST == 0 {
            options.push(&timestamps::EMPTY);
        }
        let (acknowledgement, window) = match flags & (SYN | ACK) {
            ACK => (self.receiver.next(), self.receiver.announce()),
            SYN => (0, self.receiver.first_window()),
            _ => {
                self.receiver.announce();
                (self.receiver.next(), self.receiver.first_window())
            }
        };
        Header {
            own: self.own,
            remote: self.remote,
            sequence,
            acknowledgement,
            flags,
            window,
            options,
        }
    }

    /// Sends a segment without data.
    pub(super) fn send(
        &mut self,
        now: Time,
        sequence: u32,
        flags: u8,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let mut header = self.header(sequence, flags);
        if self.sender.has_sack && flags == ACK {
            let room = (40 - header.options.length() - 4) / 8;
            let mut blocks = [(0, 0); MAX_BLOCKS];
            let count = self.receiver.report(room.min(MAX_BLOCKS), &mut blocks);
            if count > 0 {
                header.options.push(&[1, 1, 5, 2 + 8 * count as u8]);
                for (from, to) in &blocks[..count] {
                    header.options.push(&from.to_be_bytes());
                    header.options.push(&to.to_be_bytes());
                }
            }
        }
        let (frame, begins) = header.frame(0, out);
        self.finish_frame(now, frame, begins, egress, out);
    }

    pub(super) fn send_piece(
        &mut self,
        now: Time,
        piece: &sender::Piece,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let push = if piece.length > 0 && piece.ends {
            PSH
        } else {
            0
        };
        let fin = if piece.fin { FIN } else { 0 };
        let header = self.header(piece.sequence, ACK | push | fin);
        let (mut frame, begins) = header.frame(piece.length, out);
        let data = begins + HEADER + header.options.length();
        self.sender.read(piece.at, &mut frame[data..]);
        self.finish_frame(now, frame, begins, egress, out);
    }

    pub(super) fn finish_frame(
        &mut self,
        now: Time,
        mut frame: Frame,
        begins: usize,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let segment = &mut frame[begins..];
        if let Some(timestamps) = &mut self.timestamps {
            timestamps.stamp(now, segment);
        }
        segment::fill_checksum(segment, self.own.ip(), self.remote.ip());
        egress.send(now, self.remote.ip(), When::Now, frame, out);
    }
}
