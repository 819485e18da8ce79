//! Frames of Slow Protocols: LACPDUs and markers (IEEE 802.1AX-2014 sections 6.4.2 and 6.5.3).

use node::Frame;
use packet::ethernet::Mac;

/// Destination of all frames of Slow Protocols (annex 57A of 802.3).
pub const DESTINATION: Mac = Mac([0x01, 0x80, 0xC2, 0, 0, 2]);
/// EtherType of Slow Protocols.
pub const ETHERTYPE: u16 = 0x8809;
const ETHERNET: usize = 14;
const SUBTYPE_LACP: u8 = 1;
const SUBTYPE_MARKER: u8 = 2;
/// Length of a frame, bytes.
const FRAME_LEN: usize = 124;
/// Places of the TLVs of actor, partner and collector in a frame.
const ACTOR: usize = ETHERNET + 2;
const PARTNER: usize = ACTOR + 20;
const COLLECTOR: usize = PARTNER + 20;
const MARKER_INFORMATION: u8 = 1;
const MARKER_RESPONSE: u8 = 2;

/// State of a port, as an LACPDU has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(pub u8);

impl State {
    /// `LACP_Activity`: sends without being asked.
    pub const ACTIVITY: u8 = 1;
    /// `LACP_Timeout`: short.
    pub const SHORT_TIMEOUT: u8 = 1 << 1;
    /// The link may be part of a group.
    pub const AGGREGATION: u8 = 1 << 2;
    /// The link is in the right group.
    pub const SYNCHRONIZATION: u8 = 1 << 3;
    /// Frames that arrive are taken.
    pub const COLLECTING: u8 = 1 << 4;
    /// Frames are sent.
    pub const DISTRIBUTING: u8 = 1 << 5;
    /// The partner's values are defaults.
    pub const DEFAULTED: u8 = 1 << 6;
    /// The partner's values have expired.
    pub const EXPIRED: u8 = 1 << 7;

    /// Whether a bit is set.
    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// Sets or clears a bit.
    pub fn set(&mut self, bit: u8, on: bool) {
        self.0 = self.0 & !bit | if on { bit } else { 0 };
    }
}

/// One end of a link, as an LACPDU states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Priority of the system.
    pub system_priority: u16,
    /// Address of the system.
    pub system: Mac,
    /// Key: ports of a system with the same key may be one group.
    pub key: u16,
    /// Priority of the port.
    pub port_priority: u16,
    /// Number of the port, from 1.
    pub port: u16,
    /// State of the port.
    pub state: State,
}

impl End {
    fn read(bytes: &[u8; 18]) -> End {
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        End {
            system_priority: word(2),
            system: Mac(core::array::from_fn(|index| bytes[4 + index])),
            key: word(10),
            port_priority: word(12),
            port: word(14),
            state: State(bytes[16]),
        }
    }

    fn write(&self, kind: u8, frame: &mut Frame) {
        frame.extend(&[kind, 20]);
        frame.extend(&self.system_priority.to_be_bytes());
        frame.extend(&self.system.0);
        frame.extend(&self.key.to_be_bytes());
        frame.extend(&self.port_priority.to_be_bytes());
        frame.extend(&self.port.to_be_bytes());
        frame.extend(&[self.state.0, 0, 0, 0]);
    }

    /// Whether it is the same port of the same system with the same key; the state may differ.
    pub fn is_same_port(&self, other: &End) -> bool {
        End {
            state: other.state,
            ..*self
        } == *other
    }
}

/// A frame of a Slow Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// An LACPDU: the actor's information, and its view of the partner.
    Lacp {
        /// The sender.
        actor: End,
        /// The receiver, as the sender knows it.
        partner: End,
    },
    /// A marker, which must be answered.
    Marker,
    /// The answer to a marker.
    MarkerResponse,
}

/// Reason why a frame of a Slow Protocol is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPdu(pub &'static str);

impl Pdu {
    /// Reads a frame to [`DESTINATION`].
    ///
    /// # Errors
    /// When it is no LACPDU and no marker, or one that is not whole.
    pub fn parse_frame(frame: &[u8]) -> Result<Pdu, BadPdu> {
        let kind = frame.get(12..16).ok_or(BadPdu("LACPDU cut short"))?;
        if kind[..2] != ETHERTYPE.to_be_bytes() {
            return Err(BadPdu("not a slow protocol"));
        }
        // A higher version is read as version 1 (6.4.2.3).
        match kind[2] {
            SUBTYPE_LACP => {
                let tlv = |at: usize, kind: u8| {
                    let bytes: &[u8; 18] = frame.get(at..)?.first_chunk()?;
                    (bytes[..2] == [kind, 20]).then(|| End::read(bytes))
                };
                match (tlv(ACTOR, 1), tlv(PARTNER, 2)) {
                    (Some(actor), Some(partner)) if frame.len() >= COLLECTOR => {
                        Ok(Pdu::Lacp { actor, partner })
                    }
                    _ => Err(BadPdu("malformed LACPDU")),
                }
            }
            SUBTYPE_MARKER => match frame.get(ACTOR..ACTOR + 16) {
                Some([MARKER_INFORMATION, 16, ..]) => Ok(Pdu::Marker),
                Some([MARKER_RESPONSE, 16, ..]) => Ok(Pdu::MarkerResponse),
                _ => Err(BadPdu("malformed marker")),
            },
            _ => Err(BadPdu("not a slow protocol that a switch has")),
        }
    }

    /// Makes the answer to a marker of the marker (6.5.3.4).
    pub fn answer_marker(frame: &mut [u8], from: Mac) {
        frame[..6].copy_from_slice(&DESTINATION.0);
        frame[6..12].copy_from_slice(&from.0);
        frame[ACTOR] = MARKER_RESPONSE;
    }
}

/// Appends the frame of an LACPDU from a port with the address `from`.
pub fn build_frame(actor: &End, partner: &End, from: Mac, frame: &mut Frame) {
    frame.extend(&DESTINATION.0);
    frame.extend(&from.0);
    frame.extend(&ETHERTYPE.to_be_bytes());
    frame.extend(&[SUBTYPE_LACP, 1]);
    actor.write(1, frame);
    partner.write(2, frame);
    // The collector's maximum delay is zero; the terminator and the rest are, too.
    frame.extend(&[3, 16]);
    frame.resize(FRAME_LEN);
}
