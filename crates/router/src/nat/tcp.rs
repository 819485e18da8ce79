//! State of a TCP connection as its NAT sees it (RFC 7857 section 2, RFC 6146 section 3.5.2.2).
//!
//! Sequence numbers are not looked at: a RST that a third party forges shortens a session's life to
//! the transitory timeout, and the next packet of the connection undoes that.

/// Flags of a TCP header.
pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const ACK: u8 = 16;

/// Direction of a packet through the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Out,
    In,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The inside host has sent a SYN.
    Opening,
    /// The inside host has answered a SYN.
    Answered,
    Established,
    /// The inside host has sent its FIN.
    FinOut,
    /// The remote host has sent its FIN.
    FinIn,
    /// Both have.
    Closing,
    /// A RST was seen.
    Reset,
}

impl State {
    /// State that an outbound packet without a session begins; `None` when it must not begin any. A
    /// NAT that picks up connections takes any ACK for part of one.
    pub fn begin(flags: u8, pickup: bool) -> Option<State> {
        match flags & (SYN | ACK | RST | FIN) {
            SYN => Some(State::Opening),
            // The answer to a SYN that filtering let through. Linux knows that connection by its
            // SYN.
            flags if flags == SYN | ACK && !pickup => Some(State::Answered),
            ACK if pickup => Some(State::Established),
            _ => None,
        }
    }

    /// State after a packet.
    #[must_use]
    pub fn after(self, way: Way, flags: u8) -> State {
        use State::*;
        let is_reset = flags & RST != 0;
        let is_open = way == Way::Out && flags & (SYN | ACK | RST | FIN) == SYN;
        match self {
            // A simultaneous open is a SYN from both (RFC 5382 REQ-2).
            Opening if way == Way::In && !is_reset && flags & SYN != 0 => Established,
            Answered if way == Way::In && !is_reset && flags & ACK != 0 => Established,
            Opening | Answered => self,
            // The inside host uses its port again.
            Closing | Reset if is_open => Opening,
            Closing => Closing,
            Reset if is_reset => Reset,
            Reset => Established,
            Established | FinOut | FinIn if is_reset => Reset,
            _ if flags & FIN == 0 => self,
            Established if way == Way::Out => FinOut,
            Established => FinIn,
            FinOut if way == Way::In => Closing,
            FinIn if way == Way::Out => Closing,
            FinOut | FinIn => self,
        }
    }

    /// Whether the session has the timeout of an established connection.
    pub fn is_established(self) -> bool {
        matches!(self, State::Established | State::FinOut | State::FinIn)
    }

    /// Whether a packet that has led from `self` to `next` restarts the session's timer.
    pub fn restarts(self, next: State, way: Way, flags: u8) -> bool {
        match next {
            _ if next != self => true,
            State::Opening | State::Answered => way == Way::Out && flags & SYN != 0,
            State::Closing | State::Reset => false,
            _ => true,
        }
    }

    /// The state as a word.
    pub fn name(self) -> &'static str {
        match self {
            State::Opening => "opening",
            State::Answered => "answered",
            State::Established => "established",
            State::FinOut => "fin-out",
            State::FinIn => "fin-in",
            State::Closing => "closing",
            State::Reset => "reset",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Way::{In, Out};

    fn walk(begin: State, packets: &[(Way, u8)]) -> State {
        packets
            .iter()
            .fold(begin, |state, &(way, flags)| state.after(way, flags))
    }

    #[test]
    fn connections_open_and_close_in_each_order() {
        use State::*;
        let open = State::begin(SYN, false).unwrap();
        assert_eq!(walk(open, &[(Out, SYN)]), Opening);
        assert_eq!(walk(open, &[(In, SYN | ACK)]), Established);
        assert_eq!(walk(open, &[(In, SYN)]), Established, "simultaneous open");
        assert_eq!(walk(open, &[(In, RST | ACK)]), Opening, "refused");
        let passive = State::begin(SYN | ACK, false).unwrap();
        assert_eq!(walk(passive, &[(In, SYN)]), Answered);
        assert_eq!(walk(passive, &[(In, ACK)]), Established);
        for (first, second) in [(Out, In), (In, Out)] {
            let ends = [(first, FIN | ACK), (first, FIN | ACK)];
            assert!(walk(Established, &ends).is_established());
            assert_eq!(walk(Established, &[ends[0], (second, FIN)]), Closing);
            assert_eq!(walk(Established, &[ends[0], (first, RST)]), Reset);
            assert_eq!(walk(Established, &[(first, RST), (first, RST)]), Reset);
            assert_eq!(
                walk(Established, &[(first, RST), (second, ACK)]),
                Established
            );
        }
        assert_eq!(walk(Closing, &[(In, SYN), (Out, ACK), (Out, RST)]), Closing);
        assert_eq!(walk(Closing, &[(Out, SYN)]), Opening);
    }

    #[test]
    fn only_a_syn_begins_a_session_and_a_picked_up_connection_any_ack() {
        for flags in 0..64 {
            let set = flags & (SYN | ACK | RST | FIN);
            let begins = set == SYN || set == SYN | ACK;
            assert_eq!(State::begin(flags, false).is_some(), begins);
            let begins = set == SYN || set == ACK;
            assert_eq!(State::begin(flags, true).is_some(), begins);
        }
    }
}
