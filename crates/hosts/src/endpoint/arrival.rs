//! Segments that arrive.

use super::ecn::Mode;
use super::segment::{ACK, FIN, HEADER, RST, SYN, Segment};
use super::{ANSWERS, BROKEN, Egress, Endpoint, Stack, State, USUAL_SEGMENT, timestamps};
use core::net::SocketAddr;
use ip::address::is_unicast;
use ip::header;
use node::{Frame, Out, Time};

impl Endpoint {
    /// Takes a frame with a segment for this end.
    ///
    /// # Errors
    /// Why it goes no further: it is broken, or by its timestamp older than what came before it.
    pub fn segment(
        &mut self,
        stack: &mut Stack,
        now: Time,
        frame: &Frame,
        egress: &mut dyn Egress,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let packet = header::read(frame).filter(|packet| {
            let room = packet.end >= packet.payload + HEADER;
            packet.protocol == header::TCP && room && header::is_valid(frame, packet)
        });
        let packet = packet.ok_or(BROKEN)?;
        self.take(stack, now, frame, &packet, egress, out)
    }

    /// Whether a segment is not older than what came before it; if it is, and takes up numbers, the far end is sent an
    /// acknowledgement (RFC 7323 section 5.3).
    pub(super) fn is_new(&mut self, now: Time, bytes: &[u8], segment: &Segment<'_>) -> bool {
        let Some(timestamps) = &mut self.timestamps else {
            return true;
        };
        if timestamps.are_refused(bytes) {
            self.timestamps = None;
            return true;
        }
        let is_new = !timestamps.is_old(now, bytes);
        if !is_new && segment.length() > 0 {
            self.receiver.acknowledge_now();
        }
        is_new
    }

    /// The first segment of the far end, for an end that waits.
    pub(super) fn take_first(
        &mut self,
        stack: &mut Stack,
        now: Time,
        (own, remote): (SocketAddr, SocketAddr),
        segment: &Segment<'_>,
    ) {
        if segment.flags & (SYN | ACK | RST | FIN) != SYN || !is_unicast(remote.ip()) {
            return;
        }
        (self.own, self.remote) = (own, remote);
        self.handshake.number = stack.random.bits() as u32;
        self.ecn.take_first(segment.ace(), segment.codepoint);
        self.agree(now, segment);
        self.state = State::SynReceived;
    }

    /// Takes the answer to the own SYN; `false` if it must be refused (RFC 9293 section 3.10.7.3).
    pub(super) fn take_answer(&mut self, now: Time, segment: &Segment<'_>) -> bool {
        let first = self.handshake.number.wrapping_add(1);
        if segment.has(ACK) && segment.acknowledgement != first {
            return false;
        }
        if segment.has(RST) {
            if segment.has(ACK) {
                self.close_at_once();
            }
            return true;
        }
        if !segment.has(SYN) {
            return true;
        }
        if segment.has(ACK) {
            self.ecn.take_answer(segment.ace(), segment.codepoint);
            self.agree(now, segment);
            self.feedback.take_answer(segment.codepoint);
            self.establish(now, segment);
            self.receiver.acknowledge_now();
            self.reflects = self.ecn.mode == Mode::Accurate;
        } else {
            self.ecn.take_first(segment.ace(), segment.codepoint);
            self.ecn.forgo();
            self.agree(now, segment);
            // Both ends open at the same time.
            self.handshake.expires = None;
            self.handshake.tries = 0;
            self.state = State::SynReceived;
        }
        true
    }

    /// Takes up what the far end's first segment says.
    pub(super) fn agree(&mut self, now: Time, segment: &Segment<'_>) {
        if let (Some(timestamps), Some(shown)) = (&mut self.timestamps, segment.shown) {
            timestamps.note(now, segment.sequence, shown);
        }
        self.receiver.begin(segment.sequence.wrapping_add(1));
        self.scale = segment.scale;
        if self.scale.is_none() {
            self.receiver.forgo_scale();
        }
        self.sender.has_sack = segment.sack_permitted;
        let usual = USUAL_SEGMENT[usize::from(self.remote.is_ipv6())];
        // Less than this is of no use (RFC 9293 allows any), and would have headers only.
        let theirs = usize::from(segment.mss.unwrap_or(usual)).max(64);
        let options = self.timestamps.as_ref().map_or(0, |_| timestamps::LENGTH);
        let mss = self.mss.min(theirs) - options;
        let first = self.handshake.number.wrapping_add(1);
        self.sender.begin(now, first, mss as u32, self.ecn.mode);
        self.feedback.begin(self.ecn.mode);
        self.sender.open(segment.sequence, self.window_of(segment));
    }

    /// The far end's window in bytes; that of a first segment is not scaled.
    pub(super) fn window_of(&self, segment: &Segment<'_>) -> u64 {
        let shift = self.scale.filter(|_| !segment.has(SYN));
        u64::from(segment.window) << shift.unwrap_or(0)
    }

    /// The own first segment is acknowledged.
    pub(super) fn establish(&mut self, now: Time, segment: &Segment<'_>) {
        if let Some(sent) = self.handshake.sent.take() {
            self.sender.sample(now, now - sent);
        }
        self.handshake.expires = None;
        self.sender.open(segment.sequence, self.window_of(segment));
        self.state = State::Established;
    }

    /// A segment of a connection whose far end is known (RFC 9293 section 3.10.7.4); `false` if it must be refused.
    pub(super) fn take_next(&mut self, now: Time, segment: &Segment<'_>) -> bool {
        let is_expected = segment.sequence == self.receiver.next();
        if !self.receiver.accepts(segment.sequence, segment.length()) {
            self.receiver.note_old(segment.sequence, segment.payload);
            let is_first = segment.has(SYN) && self.state == State::SynReceived;
            if is_first {
                self.handshake.is_asked = true;
                self.ecn.take_again(segment.ace(), segment.codepoint);
            } else if !segment.has(RST) {
                // The acknowledgement that ends the handshake was lost.
                let is_answer = segment.has(SYN | ACK) && self.ecn.mode == Mode::Accurate;
                if is_answer && segment.acknowledgement == self.sender.first() {
                    self.ecn.reflect(segment.codepoint);
                    self.reflects = true;
                }
                self.answer(now, segment);
            }
            return true;
        }
        // RFC 5961: only a reset with the expected number is one, and no SYN is.
        if segment.has(RST) {
            match is_expected {
                true => self.close_at_once(),
                false => self.answer(now, segment),
            }
            return true;
        }
        if segment.has(SYN) {
            self.answer(now, segment);
            return true;
        }
        if !segment.has(ACK) {
            return true;
        }
        // The bits of the acknowledgement that ends the handshake are no count.
        let is_first = self.state == State::SynReceived;
        if is_first {
            if segment.acknowledgement != self.handshake.number.wrapping_add(1) {
                return false;
            }
            if segment.length() == 0 && self.ecn.take_reflection(segment.ace()) {
                self.sender.count_answer();
            }
            self.establish(now, segment);
            if self.sender.is_finishing() {
                self.state = State::FinWait1;
            }
        }
        let window = self.window_of(segment);
        // A segment that is not acceptable may be forged and must not change the peer's clock.
        if !self.sender.accepts(segment.acknowledgement) {
            self.answer(now, segment);
            return true;
        }
        let is_newer = self.note_clock(now, segment) && !is_first;
        self.sender.acknowledge(now, segment, window, is_newer);
        if self.sender.is_finished() {
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.rest(now),
                State::LastAck => self.close_at_once(),
                _ => {}
            }
        }
        self.note_marks(segment);
        let is_open = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        if is_open && segment.length() > 0 {
            self.receiver
                .take(now, segment.sequence, segment.payload, segment.has(FIN));
            if self.receiver.has_ended() {
                match self.state {
                    State::Established => self.state = State::CloseWait,
                    State::FinWait1 => self.state = State::Closing,
                    _ => self.rest(now),
                }
            }
        } else if segment.length() > 0 {
            self.answer(now, segment);
        }
        true
    }

    /// Records the peer's timestamp. Returns whether it has advanced.
    fn note_clock(&mut self, now: Time, segment: &Segment<'_>) -> bool {
        match (&mut self.timestamps, segment.shown) {
            (Some(timestamps), Some(shown)) => timestamps.note(now, segment.sequence, shown),
            _ => false,
        }
    }

    /// Notes what the packet of an acceptable segment says of congestion, before its data is taken.
    fn note_marks(&mut self, segment: &Segment<'_>) {
        let (ace, data) = (segment.ace(), segment.payload.len());
        let asks = self.feedback.take(ace, segment.codepoint, data);
        if asks.before {
            if self.receiver.due().is_some() {
                self.before = Some((self.receiver.next(), self.feedback.ace()));
            }
            self.feedback.change();
        }
        if asks.now {
            self.receiver.acknowledge_now();
        }
        if asks.quick {
            self.receiver.acknowledge_quickly();
        }
    }

    /// Answers a segment that is not acceptable; without data only now and then, so that two ends do not do so forever.
    pub(super) fn answer(&mut self, now: Time, segment: &Segment<'_>) {
        let is_safe = !segment.payload.is_empty() || segment.has(FIN);
        let is_rare = self.answered.is_none_or(|last| now >= last + ANSWERS);
        if is_safe || is_rare {
            self.receiver.acknowledge_now();
            if !is_safe {
                self.answered = Some(now);
            }
        }
    }
}
