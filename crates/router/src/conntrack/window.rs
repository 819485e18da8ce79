//! Windows of a TCP connection.
//!
//! A segment fits when it does not begin after the receiver's window, does not end before data that the receiver may still
//! want, and acknowledges neither data that was not sent nor very old data.

use super::Direction;
use super::headers::Headers;
use super::state::{self, Kind, TcpState};
use packet::tcp::{TcpOption, TcpView, flag};

/// Least distance behind the newest data at which an acknowledgement is too old.
const MAX_ACK_WINDOW: u32 = 66_000;
/// Maximum shift of a window (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;

/// A TCP segment as the tracker sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub sequence: u32,
    /// As the other side wrote it: without the SYN proxy's translation.
    pub acknowledgement: u32,
    /// Difference that the SYN proxy's translation makes to sequence numbers of the other side.
    pub offset: u32,
    pub window: u16,
    pub flags: u8,
    length: u32,
    view: TcpView<'a>,
}

impl<'a> Segment<'a> {
    /// Reads a segment; `None` when its header is cut off or its flags make no sense together.
    pub fn read(frame: &'a [u8], headers: &Headers) -> Option<Segment<'a>> {
        let view = TcpView::new(headers.upper(frame)?).ok()?;
        let flags = view.flags();
        if !state::are_valid(flags) {
            return None;
        }
        let controls = u32::from(flags & flag::SYN != 0) + u32::from(flags & flag::FIN != 0);
        Some(Segment {
            sequence: view.sequence(),
            acknowledgement: view.acknowledgement(),
            offset: 0,
            window: view.window(),
            flags,
            length: view.payload().len() as u32 + controls,
            view,
        })
    }

    pub fn kind(&self) -> Kind {
        Kind::of(self.flags)
    }

    /// Sequence number after the segment.
    pub fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.length)
    }

    fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// The highest sequence number that the segment says has arrived.
    fn selective(&self, acknowledgement: u32) -> u32 {
        let mut highest = acknowledgement;
        for option in self.view.options() {
            if let TcpOption::Sack(blocks) = option
                && !blocks.is_empty()
            {
                for block in blocks {
                    let end = u32::from_be_bytes([block[4], block[5], block[6], block[7]]);
                    if is_after(end, highest) {
                        highest = end;
                    }
                }
                break;
            }
        }
        highest
    }
}

/// Whether a sequence number is before another.
fn is_before(first: u32, second: u32) -> bool {
    (first.wrapping_sub(second) as i32) < 0
}

fn is_after(first: u32, second: u32) -> bool {
    is_before(second, first)
}

/// Relation of a segment to the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Good,
    /// The segment counts as good, but its window is not taken into account.
    Passed,
    /// The segment passes as one of the connection, but changes nothing.
    Ignored,
    Outside,
}

/// One side of a connection, as far as its segments have shown it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    /// Sequence number after the last data that it has sent.
    pub end: u32,
    /// Sequence number up to which it may send.
    pub max_end: u32,
    /// Largest window that it has offered; 0: no segment was seen.
    pub max_window: u32,
    /// Highest acknowledgement that it has sent.
    pub max_acknowledged: Option<u32>,
    pub scale: u8,
    pub has_scale: bool,
    pub has_sack: bool,
    /// Whether its segments are accepted outside the window, as those of a connection that was picked up.
    pub is_liberal: bool,
    /// Whether it has sent data that the other side has not acknowledged.
    pub is_unacknowledged: bool,
    /// Whether it was the first to send its FIN.
    pub closes_first: bool,
}

impl Side {
    /// The side that has sent a SYN.
    pub fn opened(segment: &Segment) -> Side {
        let mut side = Side {
            end: segment.end(),
            max_end: segment.end(),
            max_window: u32::from(segment.window.max(1)),
            ..Side::default()
        };
        side.read_options(segment);
        side
    }

    /// A side of a connection whose beginning was not seen: its options are unknown.
    pub fn picked_up() -> Side {
        Side {
            has_sack: true,
            is_liberal: true,
            ..Side::default()
        }
    }

    /// Takes the first segment of such a connection.
    pub fn pick_up(&mut self, segment: &Segment) {
        self.end = segment.end();
        self.max_window = u32::from(segment.window.max(1));
        self.max_end = self.end.wrapping_add(self.max_window);
    }

    /// Reads the options of a SYN.
    pub fn read_options(&mut self, segment: &Segment) {
        if segment.view.option_bytes().is_empty() {
            return;
        }
        (self.scale, self.has_scale, self.has_sack) = (0, false, false);
        (self.is_unacknowledged, self.closes_first) = (false, false);
        self.max_acknowledged = None;
        for option in segment.view.options() {
            match option {
                TcpOption::SackPermitted => self.has_sack = true,
                TcpOption::WindowScale(scale) => {
                    self.scale = scale.min(MAX_SCALE);
                    self.has_scale = true;
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, receiver: &mut Side, way: Direction, segment: &Segment) {
        self.end = segment.end();
        self.max_end = self.end;
        self.max_window = u32::from(segment.window.max(1));
        self.read_options(segment);
        // Both sides must offer scaling (RFC 7323 section 2.2).
        if way == Direction::Reply && !(self.has_scale && receiver.has_scale) {
            (self.scale, receiver.scale) = (0, 0);
        }
    }

    /// Takes a segment of this side into account.
    pub fn take(
        &mut self,
        receiver: &mut Side,
        way: Direction,
        state: TcpState,
        segment: &Segment,
        liberal: bool,
    ) -> Fit {
        let end = segment.end();
        let mut sequence = segment.sequence;
        let mut acknowledged = segment.acknowledgement;
        let mut selective = match receiver.has_sack {
            true => segment.selective(acknowledged),
            false => acknowledged,
        };
        acknowledged = acknowledged.wrapping_sub(segment.offset);
        selective = selective.wrapping_sub(segment.offset);
        let is_syn = segment.has(flag::SYN);
        let is_open = matches!(state, TcpState::SynSent | TcpState::SynRecv);
        if self.max_window == 0 {
            if is_syn {
                self.open(receiver, way, segment);
                if !segment.has(flag::ACK) {
                    return Fit::Passed;
                }
            } else {
                self.end = end;
                self.max_window = (u32::from(segment.window) << self.scale).max(1);
                self.max_end = end.wrapping_add(self.max_window);
                if receiver.max_window == 0 {
                    receiver.end = selective;
                    receiver.max_end = selective;
                } else if selective == receiver.end.wrapping_add(1) {
                    // The answer to a keep-alive.
                    receiver.end = selective;
                }
            }
        } else if is_syn && is_after(end, self.end) && is_open {
            self.open(receiver, way, segment);
            if way == Direction::Reply && !segment.has(flag::ACK) {
                return Fit::Passed;
            }
        }
        // Some hosts send RST with ACK set and an acknowledgement of 0.
        if !segment.has(flag::ACK) || (segment.has(flag::RST) && acknowledged == 0) {
            acknowledged = receiver.end;
            selective = receiver.end;
        }
        let mut end = end;
        if segment.has(flag::RST) && sequence == 0 && state == TcpState::SynSent {
            sequence = self.end;
            end = self.end;
        }
        let fit = self.place(receiver, sequence, end, selective);
        if fit != Fit::Good {
            return match liberal || self.is_liberal {
                true => Fit::Passed,
                false => fit,
            };
        }
        self.advance(receiver, segment, (acknowledged, selective), end);
        Fit::Good
    }

    fn place(&mut self, receiver: &Side, sequence: u32, end: u32, selective: u32) -> Fit {
        let lower = self.end.wrapping_sub(receiver.max_window).wrapping_sub(1);
        let oldest = receiver
            .end
            .wrapping_sub(self.max_window.max(MAX_ACK_WINDOW));
        let is_recent = is_after(selective, oldest.wrapping_sub(1));
        let was_sent = is_before(selective, receiver.end.wrapping_add(1));
        if !is_before(sequence, self.max_end.wrapping_add(1)) {
            let surplus = end.wrapping_sub(self.max_end).wrapping_add(1);
            let wanted = receiver.max_window > 0 && is_after(end, lower);
            if wanted && is_recent && was_sent && surplus <= receiver.max_window {
                // The receiver may take it, and acknowledge it, all the same.
                self.end = end;
                self.is_unacknowledged = true;
                return Fit::Ignored;
            }
            return Fit::Outside;
        }
        if !was_sent {
            return Fit::Outside;
        }
        let wanted = receiver.max_window == 0 || is_after(end, lower);
        match wanted && is_recent {
            true => Fit::Good,
            false => Fit::Ignored,
        }
    }

    fn advance(
        &mut self,
        receiver: &mut Side,
        segment: &Segment,
        (acknowledged, selective): (u32, u32),
        end: u32,
    ) {
        let mut window = u32::from(segment.window);
        if !segment.has(flag::SYN) {
            window <<= self.scale;
        }
        let offered = window.wrapping_add(selective.wrapping_sub(acknowledged));
        self.max_window = self.max_window.max(offered);
        if is_after(end, self.end) {
            self.end = end;
            self.is_unacknowledged = true;
        }
        if segment.has(flag::ACK) {
            let is_first = |max: u32| is_after(acknowledged, max);
            if self.max_acknowledged.is_none_or(is_first) {
                self.max_acknowledged = Some(acknowledged);
            }
        }
        if receiver.max_window != 0 && is_after(end, self.max_end) {
            let more = end.wrapping_sub(self.max_end);
            receiver.max_window = receiver.max_window.wrapping_add(more);
        }
        let limit = selective.wrapping_add(window);
        if is_after(limit, receiver.max_end.wrapping_sub(1)) {
            receiver.max_end = limit.wrapping_add(u32::from(window == 0));
        }
        if acknowledged == receiver.end {
            receiver.is_unacknowledged = false;
        }
    }
}
