//! PPP over Ethernet (RFC 2516): discovery, and the packets of a session.

use crate::BadHeader;
use crate::field;

/// Version 1 and type 1, the only ones.
const VERSION_AND_TYPE: u8 = 0x11;
/// Protocols of PPP: IPv4, IPv6 and MPLS.
pub const IPV4: u16 = 0x0021;
/// As [`IPV4`].
pub const IPV6: u16 = 0x0057;
/// As [`IPV4`].
pub const MPLS: u16 = 0x0281;

/// A header, and the payload behind it. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct PppoeView<'a> {
    header: &'a [u8; 6],
    /// As far as the stated length and the bytes reach.
    payload: &'a [u8],
}

impl<'a> PppoeView<'a> {
    /// Looks at the payload of an Ethernet frame; padding may follow.
    ///
    /// # Errors
    /// When the header is cut off, or of another version.
    pub fn new(bytes: &'a [u8]) -> Result<PppoeView<'a>, BadHeader> {
        let (header, behind) = field::split::<6>(bytes, "PPPoE header cut off")?;
        if header[0] != VERSION_AND_TYPE {
            return Err(BadHeader("PPPoE of another version than 1"));
        }
        let length = usize::from(field::u16::<4, 6>(header));
        let payload = behind.get(..length).unwrap_or(behind);
        Ok(PppoeView { header, payload })
    }

    /// The code: 0 for a packet of a session, others for discovery.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// The session.
    pub fn session(&self) -> u16 {
        field::u16::<2, 6>(self.header)
    }

    /// The length of the payload as it stands, in bytes.
    pub fn length(&self) -> u16 {
        field::u16::<4, 6>(self.header)
    }

    /// The payload: tags of discovery, or a PPP packet.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the stated length is more than there is.
    pub fn is_cut(&self) -> bool {
        self.payload.len() < self.length().into()
    }

    /// The name of a discovery packet, of those that the RFC has.
    pub fn discovery(&self) -> Option<&'static str> {
        Some(match self.code() {
            0x09 => "PADI",
            0x07 => "PADO",
            0x19 => "PADR",
            0x65 => "PADS",
            0xA7 => "PADT",
            _ => return None,
        })
    }

    /// PPP's protocol and the packet behind it; `None` in discovery.
    ///
    /// # Errors
    /// When the protocol is cut off.
    pub fn packet(&self) -> Result<Option<(u16, &'a [u8])>, BadHeader> {
        const CUT: BadHeader = BadHeader("PPP protocol cut off");
        if self.code() != 0 {
            return Ok(None);
        }
        // An odd first byte is the whole protocol, compressed (RFC 1661 section 6.5).
        match self.payload {
            [only, packet @ ..] if only & 1 == 1 => Ok(Some(((*only).into(), packet))),
            [high, low, packet @ ..] => Ok(Some((u16::from_be_bytes([*high, *low]), packet))),
            _ => Err(CUT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_discovery_are_read() {
        let session = [0x11, 0, 0, 7, 0, 4, 0, 0x21, 0x45, 0, 9, 9];
        let view = PppoeView::new(&session).unwrap();
        assert_eq!((view.code(), view.session(), view.length()), (0, 7, 4));
        assert_eq!(view.packet(), Ok(Some((IPV4, &[0x45, 0][..]))));
        assert!(!view.is_cut() && view.discovery().is_none());
        let compressed = [0x11, 0, 0, 7, 0, 2, 0x57, 0x60];
        let view = PppoeView::new(&compressed).unwrap();
        assert_eq!(view.packet(), Ok(Some((IPV6, &[0x60][..]))));
        let view = PppoeView::new(&session[..9]).unwrap();
        assert!(view.is_cut());
        assert!(PppoeView::new(&session[..7]).unwrap().packet().is_err());
        let discovery = [0x11, 9, 0, 0, 0, 0];
        let view = PppoeView::new(&discovery).unwrap();
        assert_eq!((view.discovery(), view.packet()), (Some("PADI"), Ok(None)));
        assert!(PppoeView::new(&discovery[..5]).is_err());
        assert!(PppoeView::new(&[0x21, 9, 0, 0, 0, 0]).is_err());
    }
}
