//! Extension headers of IPv6, and fragments of both versions.

use packet::ipv4::protocol;

/// Bytes of the fragment header.
pub(super) const FRAGMENT_HEADER: usize = 8;
pub(super) const MALFORMED: &str = "malformed packet";

/// Fields of the fragment that a packet is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    /// In units of 8 bytes.
    pub offset: u16,
    pub more: bool,
    pub identification: u32,
}

/// Extension headers of IPv6 that come before what IPv4 carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extensions {
    /// Protocol after them.
    pub next: u8,
    /// Their length in bytes.
    pub length: usize,
    pub fragment: Option<Fragment>,
    /// Whether a route is not used up.
    pub has_route: bool,
}

impl Extensions {
    pub fn read(first: u8, payload: &[u8]) -> Result<Extensions, &'static str> {
        let mut all = Extensions {
            next: first,
            length: 0,
            fragment: None,
            has_route: false,
        };
        while let protocol::HOP_BY_HOP
        | protocol::DESTINATION
        | protocol::ROUTING
        | protocol::FRAGMENT = all.next
        {
            let rest = payload.get(all.length..).ok_or(MALFORMED)?;
            let header: &[u8; 8] = rest.first_chunk().ok_or(MALFORMED)?;
            let mut length = (usize::from(header[1]) + 1) * 8;
            match all.next {
                protocol::FRAGMENT if all.fragment.is_some() => return Err(MALFORMED),
                protocol::FRAGMENT => {
                    length = FRAGMENT_HEADER;
                    let place = u16::from_be_bytes([header[2], header[3]]);
                    let [.., a, b, c, d] = *header;
                    all.fragment = Some(Fragment {
                        offset: place >> 3,
                        more: place & 1 == 1,
                        identification: u32::from_be_bytes([a, b, c, d]),
                    });
                }
                protocol::ROUTING => all.has_route |= header[3] > 0,
                _ => {}
            }
            if rest.len() < length {
                return Err(MALFORMED);
            }
            all.length += length;
            all.next = header[0];
            if all.fragment.is_some_and(|fragment| fragment.offset > 0) {
                break;
            }
        }
        Ok(all)
    }
}
