//! TCP connections: states and windows, by the rules of Linux's tracker (G. van Rooij, "Real Stateful TCP Packet Filtering in
//! IP Filter", SANE 2000; RFC 9293; RFC 5961 for challenge ACKs).
//!
//! The tracker is between the hosts: a packet that it sees may be lost after it, so that a window is no smaller than what each
//! host may have.

use super::Direction;
use super::config::Config;
use super::state::{Kind, TcpState};
use super::window::{Fit, Segment, Side};
use node::Time;

/// Effect of a segment on the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    To(TcpState),
    /// The segment passes and changes nothing: the tracker may be out of step with the hosts.
    Ignore,
    Invalid,
}

fn step(way: Direction, kind: Kind, state: TcpState) -> Step {
    use TcpState::*;
    let is_original = way == Direction::Original;
    match (kind, state) {
        (Kind::Bare, _) | (Kind::Rst, None) => Step::Invalid,
        (Kind::Rst, _) => Step::To(Close),
        (Kind::Syn, SynSent | SynSent2) if !is_original => Step::To(SynSent2),
        (Kind::Syn, SynSent2) => Step::To(SynSent2),
        (Kind::Syn, TimeWait) => Step::To(SynSent),
        (Kind::Syn, None | SynSent | Close) if is_original => Step::To(SynSent),
        (Kind::Syn, _) if is_original => Step::Ignore,
        (Kind::Syn, _) => Step::Invalid,
        (Kind::SynAck, SynRecv | SynSent2) if is_original => Step::To(SynRecv),
        (Kind::SynAck, _) if is_original => Step::Invalid,
        (Kind::SynAck, None) => Step::Invalid,
        (Kind::SynAck, SynSent | SynSent2) => Step::To(SynRecv),
        (Kind::SynAck, _) => Step::Ignore,
        (Kind::Fin, None | SynSent | SynSent2) => Step::Invalid,
        (Kind::Fin, SynRecv | Established) => Step::To(FinWait),
        (Kind::Fin, FinWait | CloseWait | LastAck) => Step::To(LastAck),
        (Kind::Ack, None) if is_original => Step::To(Established),
        (Kind::Ack, None) => Step::Invalid,
        (Kind::Ack, SynSent | SynSent2) if is_original => Step::Invalid,
        (Kind::Ack, SynSent | SynSent2) => Step::Ignore,
        (Kind::Ack, SynRecv) if !is_original => Step::To(SynRecv),
        (Kind::Ack, SynRecv | Established) => Step::To(Established),
        (Kind::Ack, FinWait | CloseWait) => Step::To(CloseWait),
        (Kind::Ack, LastAck) => Step::To(TimeWait),
        (Kind::Fin | Kind::Ack, TimeWait | Close) => Step::To(state),
    }
}

/// Facts about the last segment that was taken or ignored.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    kind: Kind,
    way: Option<Direction>,
    sequence: u32,
    acknowledgement: u32,
    end: u32,
    window: u16,
    /// Window and options that a SYN offered which was ignored.
    offer: Side,
    /// Whether that SYN may be answered with a challenge ACK.
    expects_challenge: bool,
}

/// Answer of [`Connection::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Restart the timer with this timeout; whether the connection is assured now.
    Restart(Time, bool),
    /// The segment is of the connection, the timer runs on.
    Keep,
    /// The segment is not of the connection.
    Invalid,
    /// The same, and the connection may last no longer than this.
    Shorten(Time),
    /// The connection is over with this segment.
    End,
    /// The connection is over, and the segment begins another.
    Again,
}

/// State of the connection outside this module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub has_reply: bool,
    pub is_assured: bool,
    /// Time that is left of the timer.
    pub left: Time,
    /// Whether the connection is a SYN proxy's.
    pub is_proxied: bool,
}

/// A TCP connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Connection {
    pub state: TcpState,
    pub sides: [Side; 2],
    last: Last,
    retransmissions: u8,
    is_simultaneous: bool,
}

impl Connection {
    /// The connection that a segment begins; `None` when it may not begin any. A `loose` tracker takes an ACK for one of a
    /// connection whose beginning it has not seen.
    pub fn begin(segment: &Segment, loose: bool) -> Option<Connection> {
        let mut sides = [Side::default(); 2];
        match step(Direction::Original, segment.kind(), TcpState::None) {
            Step::To(TcpState::SynSent) => sides[0] = Side::opened(segment),
            Step::To(_) if loose => {
                sides = [Side::picked_up(), Side::picked_up()];
                sides[0].pick_up(segment);
            }
            _ => return None,
        }
        Some(Connection {
            sides,
            ..Connection::default()
        })
    }

    /// Takes a segment.
    pub fn take(
        &mut self,
        way: Direction,
        segment: &Segment,
        known: Known,
        timeouts: &Config,
    ) -> Answer {
        use TcpState::{
            Close, Established, FinWait, LastAck, SynRecv, SynSent, SynSent2, TimeWait,
        };
        let kind = segment.kind();
        let mut old = self.state;
        let mut is_trusted = false;
        let mut new = match step(way, kind, old) {
            Step::Invalid if self.is_keep_alive(way, kind, segment, known) => return Answer::Keep,
            Step::Invalid => return Answer::Invalid,
            Step::Ignore => match self.ignore(way, kind, segment) {
                true => {
                    old = SynSent;
                    SynRecv
                }
                false => return Answer::Keep,
            },
            Step::To(SynSent) if old >= TimeWait && old != SynSent2 => {
                let closed = self.sides.iter().any(|side| side.closes_first);
                let was_reset = self.last.way == Some(way) && self.last.kind == Kind::Rst;
                if closed || was_reset {
                    return Answer::Again;
                }
                match self.ignore(way, kind, segment) {
                    true => {
                        old = SynSent;
                        SynRecv
                    }
                    false => return Answer::Keep,
                }
            }
            Step::To(new) => new,
        };
        match new {
            TimeWait if old == LastAck && self.is_challenge(way, kind) => {
                self.last.expects_challenge = false;
                return Answer::Keep;
            }
            SynSent2 => self.is_simultaneous = true,
            SynRecv if way == Direction::Reply && kind == Kind::Ack && self.is_simultaneous => {
                new = Established;
            }
            Close if kind == Kind::Rst => match self.reset(way, segment, known, timeouts) {
                None => return Answer::Invalid,
                Some((trusted, keeps)) => {
                    is_trusted = trusted;
                    if keeps {
                        new = old;
                    }
                }
            },
            _ => {}
        }
        if !is_trusted {
            match self.fits(way, segment, timeouts.tcp_be_liberal) {
                Fit::Good | Fit::Passed => {}
                Fit::Ignored => return Answer::Keep,
                Fit::Outside => return self.outside(way, kind, known, timeouts),
            }
        }
        self.last.kind = kind;
        self.last.way = Some(way);
        self.state = new;
        if old != new && new == FinWait {
            self.sides[way as usize].closes_first = true;
        }
        let mut timeout = self.timeout(kind, timeouts);
        if !known.has_reply {
            if kind == Kind::Rst {
                return Answer::End;
            }
            // A SYN that is sent again does not prolong the entry.
            if kind == Kind::Syn && old == SynSent {
                return Answer::Keep;
            }
            if new == Established {
                timeout = timeout.min(timeouts.tcp_timeout_unacknowledged);
            }
        }
        let was_open = matches!(old, SynRecv | Established);
        let assures = known.has_reply && !known.is_assured && was_open && new == Established;
        Answer::Restart(timeout, assures)
    }

    fn timeout(&self, kind: Kind, timeouts: &Config) -> Time {
        let own = timeouts.tcp(self.state);
        let unacknowledged = self.sides.iter().any(|side| side.is_unacknowledged);
        if self.retransmissions >= timeouts.tcp_max_retrans
            && own > timeouts.tcp_timeout_max_retrans
        {
            timeouts.tcp_timeout_max_retrans
        } else if kind == Kind::Rst {
            timeouts.tcp_timeout_close
        } else if unacknowledged {
            own.min(timeouts.tcp_timeout_unacknowledged)
        } else if self.last.window == 0 {
            own.min(timeouts.tcp_timeout_max_retrans)
        } else {
            own
        }
    }

    /// A client whose SYN, sent by the SYN proxy, was lost asks again with a keep-alive segment.
    fn is_keep_alive(&self, way: Direction, kind: Kind, segment: &Segment, known: Known) -> bool {
        known.is_proxied
            && self.state == TcpState::SynSent
            && kind == Kind::Ack
            && way == Direction::Original
            && self.last.way == Some(Direction::Original)
            && self.sides[0].end.wrapping_sub(1) == segment.sequence
    }

    fn is_challenge(&self, way: Direction, kind: Kind) -> bool {
        let is_other = self.last.way.is_some_and(|last| last != way);
        kind == Kind::Ack && is_other && self.last.kind == Kind::Syn && self.last.expects_challenge
    }

    /// Notes a segment that passes and changes no state. `true` when it is the SYN-ACK to a SYN that was ignored: the hosts have
    /// begun a connection that the tracker did not know.
    fn ignore(&mut self, way: Direction, kind: Kind, segment: &Segment) -> bool {
        let answers = kind == Kind::SynAck
            && self.last.kind == Kind::Syn
            && segment.acknowledgement == self.last.end;
        if let (true, Some(last)) = (answers, self.last.way.filter(|last| *last != way)) {
            let mut offer = self.last.offer;
            (offer.end, offer.max_end) = (self.last.end, self.last.end);
            offer.max_window = u32::from(self.last.window.max(1));
            self.sides[last as usize] = offer;
            self.last.expects_challenge = false;
            let is_liberal = self.sides[way as usize].is_liberal;
            self.sides[way as usize] = Side {
                is_liberal,
                ..Side::default()
            };
            return true;
        }
        self.last.kind = kind;
        self.last.way = Some(way);
        self.last.sequence = segment.sequence;
        self.last.end = segment.end();
        self.last.window = segment.window;
        if kind == Kind::Syn && way == Direction::Original {
            self.last.offer = Side::default();
            self.last.offer.read_options(segment);
            self.last.expects_challenge = self.state == TcpState::LastAck;
            self.is_simultaneous = false;
        }
        if self.state == TcpState::SynSent && kind == Kind::Ack && way == Direction::Reply {
            self.last.acknowledgement = segment.acknowledgement;
        }
        false
    }

    /// Judges a RST: `None` when it is invalid, else whether it is taken without a look at the window, and whether the state
    /// stays because the receiver may answer with a challenge ACK (RFC 5961 section 3.2).
    fn reset(
        &self,
        way: Direction,
        segment: &Segment,
        known: Known,
        timeouts: &Config,
    ) -> Option<(bool, bool)> {
        if self.state.is_closing() {
            return Some((true, false));
        }
        let is_established = self.state == TcpState::Established && known.is_assured;
        let mut keeps = false;
        let other = &self.sides[way.other() as usize];
        if let (Some(max), true) = (other.max_acknowledged, self.last.kind != Kind::Syn) {
            let sequence = segment.sequence;
            if sequence == 0 && !is_established {
                return Some((false, false));
            }
            let is_old = (sequence.wrapping_sub(max) as i32) < 0;
            if is_old && !timeouts.tcp_ignore_invalid_rst {
                return None;
            }
            let follows = self.last.kind == Kind::Ack
                && self.last.way == Some(way)
                && sequence == self.last.end;
            if !is_established || sequence == max || follows {
                return Some((false, false));
            }
            keeps = true;
        }
        let is_answer = self.last.way == Some(way.other());
        let answers_syn = known.has_reply && self.last.kind == Kind::Syn && is_answer;
        let answers_ack = !known.is_assured && self.last.kind == Kind::Ack;
        let answers = (answers_syn || answers_ack) && segment.acknowledgement == self.last.end;
        let answers_challenge = self.state == TcpState::SynSent
            && self.last.kind == Kind::Ack
            && self.last.way == Some(Direction::Reply)
            && segment.sequence == self.last.acknowledgement;
        Some((answers || answers_challenge, keeps))
    }

    fn fits(&mut self, way: Direction, segment: &Segment, liberal: bool) -> Fit {
        let [first, second] = &mut self.sides;
        let (sender, receiver) = match way {
            Direction::Original => (first, second),
            Direction::Reply => (second, first),
        };
        let fit = sender.take(receiver, way, self.state, segment, liberal);
        if fit == Fit::Good && segment.kind() == Kind::Ack {
            let own = Last {
                way: Some(way),
                sequence: segment.sequence,
                acknowledgement: segment.acknowledgement,
                end: segment.end(),
                window: segment.window,
                ..self.last
            };
            let is_same = self.last.way == own.way
                && self.last.sequence == own.sequence
                && self.last.acknowledgement == own.acknowledgement
                && self.last.end == own.end
                && self.last.window == own.window;
            self.retransmissions = match is_same {
                true => self.retransmissions.saturating_add(1),
                false => 0,
            };
            self.last = own;
        }
        fit
    }

    /// A segment outside the window. A second FIN or RST from the other side ends the long timeout of a connection that the
    /// hosts seem to have closed.
    fn outside(&mut self, way: Direction, kind: Kind, known: Known, timeouts: &Config) -> Answer {
        if !known.is_assured || !matches!(kind, Kind::Fin | Kind::Rst) {
            return Answer::Invalid;
        }
        let is_other = self.last.way.is_some_and(|last| last != way);
        if is_other && matches!(self.last.kind, Kind::Fin | Kind::Rst) {
            let limit = timeouts.tcp_timeout_unacknowledged;
            return match known.left >= Time::from_secs(120) && known.left > limit {
                true => Answer::Shorten(limit),
                false => Answer::Invalid,
            };
        }
        self.last.kind = kind;
        self.last.way = Some(way);
        Answer::Invalid
    }
}
