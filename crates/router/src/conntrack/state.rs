//! States of TCP connections, and kinds of segments.

use packet::tcp::flag::{ACK, FIN, RST, SYN, URG};

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TcpState {
    /// No packet is accepted yet.
    #[default]
    None,
    /// A SYN was seen.
    SynSent,
    /// A SYN-ACK was seen.
    SynRecv,
    /// The handshake's ACK was seen, or the connection was picked up.
    Established,
    /// One side has sent its FIN.
    FinWait,
    /// A FIN was acknowledged.
    CloseWait,
    /// Both sides have sent their FIN.
    LastAck,
    /// The last ACK was seen.
    TimeWait,
    /// A RST was seen.
    Close,
    /// Both sides have sent a SYN: simultaneous open.
    SynSent2,
}

impl TcpState {
    /// The state's name as in Linux.
    pub fn name(self) -> &'static str {
        match self {
            TcpState::None => "NONE",
            TcpState::SynSent => "SYN_SENT",
            TcpState::SynRecv => "SYN_RECV",
            TcpState::Established => "ESTABLISHED",
            TcpState::FinWait => "FIN_WAIT",
            TcpState::CloseWait => "CLOSE_WAIT",
            TcpState::LastAck => "LAST_ACK",
            TcpState::TimeWait => "TIME_WAIT",
            TcpState::Close => "CLOSE",
            TcpState::SynSent2 => "SYN_SENT2",
        }
    }

    /// Whether a full table may drop the connection although both sides were heard.
    pub(super) fn is_closing(self) -> bool {
        use TcpState::*;
        matches!(self, FinWait | LastAck | TimeWait | Close | CloseWait)
    }
}

/// Kind of a segment by its flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Syn,
    SynAck,
    Fin,
    Ack,
    Rst,
    #[default]
    Bare,
}

impl Kind {
    pub fn of(flags: u8) -> Kind {
        match flags {
            flags if flags & RST != 0 => Kind::Rst,
            flags if flags & SYN != 0 && flags & ACK != 0 => Kind::SynAck,
            flags if flags & SYN != 0 => Kind::Syn,
            flags if flags & FIN != 0 => Kind::Fin,
            flags if flags & ACK != 0 => Kind::Ack,
            _ => Kind::Bare,
        }
    }
}

/// Whether a segment may have these flags together.
pub(super) fn are_valid(flags: u8) -> bool {
    const RST_ACK: u8 = RST | ACK;
    const FIN_ACK: u8 = FIN | ACK;
    const FIN_ACK_URG: u8 = FIN | ACK | URG;
    const SYN_URG: u8 = SYN | URG;
    const SYN_ACK: u8 = SYN | ACK;
    const ACK_URG: u8 = ACK | URG;
    let flags = flags & (FIN | SYN | RST | ACK | URG);
    matches!(
        flags,
        SYN | SYN_URG | SYN_ACK | RST | RST_ACK | FIN_ACK | FIN_ACK_URG | ACK | ACK_URG
    )
}
