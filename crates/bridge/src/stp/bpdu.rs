//! BPDUs: Configuration, Topology Change Notification and RST (IEEE 802.1D-2004 section 9).

use super::vector::{BridgeId, PortId, Times, Vector};
use packet::ethernet::Mac;

/// Destination of all BPDUs of spanning trees (table 7-10).
pub const DESTINATION: Mac = Mac([0x01, 0x80, 0xC2, 0, 0, 0]);
/// LLC header: DSAP and SSAP of bridges, unnumbered information.
const LLC: [u8; 3] = [0x42, 0x42, 0x03];
/// Bytes before the BPDU in a frame: Ethernet header and LLC.
const HEADER: usize = 17;
/// Length of a Configuration BPDU, bytes.
const CONFIGURATION_LEN: usize = 35;
/// Length of an RST BPDU, bytes.
const RST_LEN: usize = 36;

const TYPE_CONFIGURATION: u8 = 0;
const TYPE_RST: u8 = 2;
const TYPE_NOTIFICATION: u8 = 0x80;

const TOPOLOGY_CHANGE: u8 = 1;
const PROPOSAL: u8 = 1 << 1;
const LEARNING: u8 = 1 << 4;
const FORWARDING: u8 = 1 << 5;
const AGREEMENT: u8 = 1 << 6;
const TOPOLOGY_CHANGE_ACK: u8 = 1 << 7;

/// Role of the port that has sent an RST BPDU (table 9-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SenderRole {
    /// Not stated.
    #[default]
    Unknown,
    /// Alternate or backup port.
    AlternateOrBackup,
    /// Root port.
    Root,
    /// Designated port.
    Designated,
}

/// Flags of a BPDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The topology has changed.
    pub topology_change: bool,
    /// A notification of a change has arrived; in Configuration BPDUs.
    pub topology_change_ack: bool,
    /// The sender wants to forward at once.
    pub proposal: bool,
    /// The sender agrees to a proposal.
    pub agreement: bool,
    /// The sender's port learns.
    pub learning: bool,
    /// The sender's port forwards.
    pub forwarding: bool,
    /// Role of the sender's port.
    pub role: SenderRole,
}

impl Flags {
    fn read(byte: u8) -> Flags {
        Flags {
            topology_change: byte & TOPOLOGY_CHANGE != 0,
            topology_change_ack: byte & TOPOLOGY_CHANGE_ACK != 0,
            proposal: byte & PROPOSAL != 0,
            agreement: byte & AGREEMENT != 0,
            learning: byte & LEARNING != 0,
            forwarding: byte & FORWARDING != 0,
            role: match byte >> 2 & 3 {
                0 => SenderRole::Unknown,
                1 => SenderRole::AlternateOrBackup,
                2 => SenderRole::Root,
                _ => SenderRole::Designated,
            },
        }
    }

    fn byte(self) -> u8 {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        flag(self.topology_change, TOPOLOGY_CHANGE)
            | flag(self.topology_change_ack, TOPOLOGY_CHANGE_ACK)
            | flag(self.proposal, PROPOSAL)
            | flag(self.agreement, AGREEMENT)
            | flag(self.learning, LEARNING)
            | flag(self.forwarding, FORWARDING)
            | (self.role as u8) << 2
    }
}

/// A BPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bpdu {
    /// Of STP. Of the flags only those of topology changes exist.
    Configuration(Vector, Times, Flags),
    /// Of RSTP.
    Rst(Vector, Times, Flags),
    /// Topology Change Notification of STP.
    Notification,
}

/// Reason why a BPDU is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBpdu(pub &'static str);

impl Bpdu {
    /// Reads the BPDU of a frame to [`DESTINATION`], with the checks of section 9.3.4. Timer values outside their
    /// ranges are limited to them.
    ///
    /// # Errors
    /// When the frame has no BPDU of a spanning tree, or one that is not valid.
    pub fn parse_frame(frame: &[u8]) -> Result<Bpdu, BadBpdu> {
        let length = frame.get(12..14).ok_or(BadBpdu("BPDU cut short"))?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        if frame.get(14..HEADER) != Some(&LLC) || length < LLC.len() {
            return Err(BadBpdu("not a BPDU"));
        }
        let end = (14 + length).min(frame.len());
        Bpdu::parse(&frame[HEADER..end])
    }

    fn parse(bytes: &[u8]) -> Result<Bpdu, BadBpdu> {
        let Some(&[0, 0, version, kind]) = bytes.first_chunk::<4>() else {
            return Err(BadBpdu("not a BPDU"));
        };
        match kind {
            TYPE_NOTIFICATION => return Ok(Bpdu::Notification),
            TYPE_RST if version >= 2 && bytes.len() >= RST_LEN => {}
            TYPE_CONFIGURATION => {}
            _ => return Err(BadBpdu("unknown kind of BPDU")),
        }
        let Some(fields) = bytes.first_chunk::<CONFIGURATION_LEN>() else {
            return Err(BadBpdu("BPDU cut short"));
        };
        let word = |at: usize| u16::from_be_bytes([fields[at], fields[at + 1]]);
        let identifier = |at: usize| {
            let bytes = core::array::from_fn(|index| fields[at + index]);
            BridgeId(u64::from_be_bytes(bytes))
        };
        let vector = Vector {
            root: identifier(5),
            cost: u32::from(word(13)) << 16 | u32::from(word(15)),
            bridge: identifier(17),
            port: PortId(word(25)),
        };
        let [message_age, max_age, hello, forward_delay] = [27, 29, 31, 33].map(word);
        let times = Times {
            message_age,
            max_age,
            hello,
            forward_delay,
        };
        let flags = Flags::read(fields[4]);
        match kind {
            TYPE_RST => Ok(Bpdu::Rst(vector, times.clamped(), flags)),
            _ if message_age >= max_age.min(times.clamped().max_age) => {
                Err(BadBpdu("BPDU older than its maximum age"))
            }
            _ => {
                // A Configuration BPDU comes from a designated port, and has two flags.
                let flags = Flags {
                    topology_change: flags.topology_change,
                    topology_change_ack: flags.topology_change_ack,
                    role: SenderRole::Designated,
                    ..Flags::default()
                };
                Ok(Bpdu::Configuration(vector, times.clamped(), flags))
            }
        }
    }

    /// Appends the frame with this BPDU that a port with the address `from` sends, padded to 60 bytes.
    pub fn build_frame(&self, from: Mac, frame: &mut node::Frame) {
        let (version, kind, length) = match self {
            Bpdu::Configuration(..) => (0, TYPE_CONFIGURATION, CONFIGURATION_LEN),
            Bpdu::Rst(..) => (2, TYPE_RST, RST_LEN),
            Bpdu::Notification => (0, TYPE_NOTIFICATION, 4),
        };
        frame.extend(&DESTINATION.0);
        frame.extend(&from.0);
        frame.extend(&((LLC.len() + length) as u16).to_be_bytes());
        frame.extend(&LLC);
        frame.extend(&[0, 0, version, kind]);
        if let Bpdu::Configuration(vector, times, flags) | Bpdu::Rst(vector, times, flags) = self {
            let flags = match self {
                Bpdu::Rst(..) => flags.byte(),
                _ => flags.byte() & (TOPOLOGY_CHANGE | TOPOLOGY_CHANGE_ACK),
            };
            frame.extend(&[flags]);
            frame.extend(&vector.root.0.to_be_bytes());
            frame.extend(&vector.cost.to_be_bytes());
            frame.extend(&vector.bridge.0.to_be_bytes());
            frame.extend(&vector.port.0.to_be_bytes());
            for value in [
                times.message_age,
                times.max_age,
                times.hello,
                times.forward_delay,
            ] {
                frame.extend(&value.to_be_bytes());
            }
        }
        // The length of version 1 of an RST BPDU is zero, as is the padding.
        let length = frame.len().max(packet::ethernet::MIN_WIRE_FRAME_LEN);
        frame.resize(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::Frame;

    /// As Linux's bridge and mstpd send them, by tshark.
    #[test]
    fn frames_are_those_of_the_standard() {
        let vector = Vector {
            root: BridgeId(0x8000_0200_0000_0001),
            cost: 4,
            bridge: BridgeId(0x8000_0200_0000_0002),
            port: PortId(0x8001),
        };
        let times = Times {
            message_age: 256,
            max_age: 20 * 256,
            hello: 512,
            forward_delay: 15 * 256,
        };
        let flags = Flags {
            proposal: true,
            role: SenderRole::Designated,
            ..Flags::default()
        };
        let mut frame = Frame::new(&[]);
        let from = Mac([2, 0, 0, 0, 0, 9]);
        Bpdu::Rst(vector, times, flags).build_frame(from, &mut frame);
        let expected = [
            0x01, 0x80, 0xC2, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0, 39, 0x42, 0x42, 3, 0, 0, 2, 2, 0x0E,
            0x80, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0x80, 0, 2, 0, 0, 0, 0, 2, 0x80, 1, 1, 0, 20, 0,
            2, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(frame[..], expected);
        assert_eq!(
            Bpdu::parse_frame(&frame),
            Ok(Bpdu::Rst(vector, times, flags))
        );
        frame[12..14].copy_from_slice(&[0, 30]);
        assert_eq!(
            Bpdu::parse_frame(&frame),
            Err(BadBpdu("unknown kind of BPDU"))
        );
    }

    #[test]
    fn information_as_old_as_its_maximum_age_is_refused() {
        let times = |message_age| Times {
            message_age,
            max_age: 20 * 256,
            hello: 512,
            forward_delay: 15 * 256,
        };
        let flags = Flags {
            role: SenderRole::Designated,
            ..Flags::default()
        };
        for (age, is_good) in [(20 * 256 - 1, true), (20 * 256, false)] {
            let mut frame = Frame::new(&[]);
            let sent = Bpdu::Configuration(Vector::default(), times(age), flags);
            sent.build_frame(Mac([2, 0, 0, 0, 0, 1]), &mut frame);
            assert_eq!(Bpdu::parse_frame(&frame) == Ok(sent), is_good, "{age}");
        }
    }
}
