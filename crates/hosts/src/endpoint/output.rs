//! Segments that leave.

use super::ecn::{self, Ace};
use super::round_trip::FIRST_TIMEOUT;
use super::segment::{
    self, ACK, CWR, FIN, HEADER, Header, MAX_BLOCKS, MAX_OPTIONS, Options, PSH, RST, SYN,
};
use super::{Congestion, Egress, Endpoint, MAX_TRIES, State, sender, timestamps};
use ip::header::ETHERNET;
use node::{Frame, Out, Time, When};
use packet::ecn::NOT_ECT;

/// Bytes of selective acknowledgements without their blocks, and blocks that no other option takes the place of.
const SACK_BYTES: usize = 4;
const MIN_BLOCKS: usize = 2;

impl Endpoint {
    /// Sends everything that may leave now.
    pub(super) fn output(&mut self, now: Time, egress: &mut dyn Egress, out: &mut Out) {
        if core::mem::take(&mut self.resets) {
            self.send(now, self.sender.next(), RST | ACK, egress, out);
        }
        match self.state {
            State::Closed | State::Listen => {}
            State::SynSent => self.open(now, egress, out),
            State::SynReceived => {
                self.open(now, egress, out);
                // A segment that is not acceptable is answered (RFC 9293 section 3.10.7.4).
                if self.receiver.due().is_some_and(|due| due <= now) {
                    self.send(now, self.sender.next(), ACK, egress, out);
                }
            }
            _ => {
                if let Some((number, ace)) = self.before.take() {
                    self.send_earlier(now, number, ace, egress, out);
                }
                if self.reflects {
                    self.send(now, self.sender.next(), ACK, egress, out);
                }
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
        let is_asked = core::mem::take(&mut handshake.is_asked);
        if !is_asked && handshake.expires.is_some_and(|expires| expires > now) {
            return;
        }
        let opens = self.state == State::SynSent;
        if !is_asked && handshake.tries == MAX_TRIES[usize::from(!opens)] {
            return self.close_at_once();
        }
        handshake.sent = (handshake.tries == 0).then_some(now);
        handshake.tries += u32::from(!is_asked);
        handshake.expires = Some(now + FIRST_TIMEOUT * (1 << (handshake.tries - 1)));
        let again = handshake.sent.is_none();
        let number = handshake.number;
        self.sender.count_syn(again);
        let flags = if opens { SYN } else { SYN | ACK };
        self.send(now, number, flags, egress, out);
    }

    /// The bits AE, CWR and ECE of a segment that leaves.
    fn ace(&mut self, flags: u8) -> Ace {
        match flags & (SYN | ACK | RST) {
            SYN => self.ecn.ask(self.handshake.tries),
            ACK if core::mem::take(&mut self.reflects) => self.ecn.reflection(),
            ACK => self.feedback.ace(),
            flags if flags & RST == 0 => self.ecn.answer(self.handshake.tries),
            _ => 0,
        }
    }

    pub(super) fn header(&mut self, sequence: u32, flags: u8) -> Header {
        let (echoes, is_accurate) = ecn::flags(self.ace(flags));
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
        // RFC 7323 section 3.2 asks for them in resets too.
        if self.timestamps.is_some() {
            options.push(&timestamps::EMPTY);
        }
        // The answer shows whether the path lets the option pass. One that is sent again is without (RFC 9768 section 3.2.3.2.2).
        if flags & (SYN | ACK) == SYN | ACK && self.handshake.sent.is_some() {
            self.push_counts(&mut options);
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
            flags: flags | echoes,
            is_accurate,
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
            let room = self.blocks_room(header.options.length());
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
        if flags == ACK {
            self.push_counts(&mut header.options);
        }
        let (mut frame, begins) = header.frame(0, out);
        if flags == ACK && self.marks_all() {
            self.make_capable(&mut frame);
        }
        self.finish_frame(now, frame, begins, egress, out);
    }

    /// Selective acknowledgements that fit behind options of this length. They come before the counts of accurate ECN (RFC 9768 section
    /// 3.2.3.3): as in Linux the third and the fourth give way to counts that have changed, if these fit then.
    fn blocks_room(&self, length: usize) -> usize {
        let room = MAX_OPTIONS - length - SACK_BYTES;
        let needed = self.feedback.least().next_multiple_of(4);
        let most = (room / 8).min(self.receiver.blocks()).min(MAX_BLOCKS);
        if !self.feedback.has_option() || needed == 0 {
            return most;
        }
        let fits = |count: &usize| 8 * count + needed <= room;
        let fewer = (MIN_BLOCKS.min(most)..=most).rev().find(fits);
        fewer.unwrap_or(most)
    }

    /// Appends the option of accurate ECN, as far as it fits and if there is one.
    fn push_counts(&mut self, options: &mut Options) {
        if !self.feedback.has_option() {
            return;
        }
        let (option, length) = self.feedback.option(MAX_OPTIONS - options.length());
        if length > 2 {
            options.push(&option[..length]);
            options.pad();
        }
    }

    /// Acknowledges what came before `number`, with these bits for ECN: a delayed acknowledgement of DCTCP before the state of what comes
    /// changes (RFC 8257 section 3.2).
    fn send_earlier(
        &mut self,
        now: Time,
        number: u32,
        ace: Ace,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) {
        let mut options = Options::new();
        if self.timestamps.is_some() {
            options.push(&timestamps::EMPTY);
        }
        let (echoes, is_accurate) = ecn::flags(ace);
        let header = Header {
            own: self.own,
            remote: self.remote,
            sequence: self.sender.next(),
            acknowledgement: number,
            flags: ACK | echoes,
            is_accurate,
            window: self.receiver.window_at(number),
            options,
        };
        let (mut frame, begins) = header.frame(0, out);
        if self.marks_all() {
            self.make_capable(&mut frame);
        }
        self.finish_frame(now, frame, begins, egress, out);
    }

    /// Whether packets without new data are ECN-capable too: those of DCTCP (RFC 8257 section 3.1, as in Linux). Of other senders those with
    /// new data only (RFC 3168 sections 6.1.4 and 6.1.5).
    fn marks_all(&self) -> bool {
        self.options.congestion == Congestion::Dctcp
    }

    /// Makes a packet ECN-capable, if the ends have agreed on that.
    fn make_capable(&self, frame: &mut Frame) {
        let codepoint = self.ecn.codepoint();
        if codepoint != NOT_ECT {
            packet::ecn::set(&mut frame[ETHERNET..], codepoint);
        }
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
        let mut header = self.header(piece.sequence, ACK | push | fin);
        let is_new = piece.is_new && piece.length > 0;
        if is_new && self.sender.answer() {
            header.flags |= CWR;
        }
        let (mut frame, begins) = header.frame(piece.length, out);
        let data = begins + HEADER + header.options.length();
        self.sender.read(piece.at, &mut frame[data..]);
        if is_new || self.marks_all() {
            self.make_capable(&mut frame);
        }
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
