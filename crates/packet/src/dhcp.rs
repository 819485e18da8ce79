//! DHCP for IPv4 (RFC 2131, RFC 2132), as far as it is there.

use crate::BadHeader;
use crate::ethernet::Mac;
use crate::field;
use core::net::Ipv4Addr;

/// The ports of servers and relays, and of clients.
pub const PORTS: [u16; 2] = [67, 68];
/// Where the options begin.
const OPTIONS: usize = 236;
/// What stands before the options.
const COOKIE: [u8; 4] = [0x63, 0x82, 0x53, 0x63];

/// Numbers of options.
pub mod option {
    /// The network's mask.
    pub const SUBNET_MASK: u8 = 1;
    /// Routers.
    pub const ROUTER: u8 = 3;
    /// Name servers.
    pub const NAME_SERVER: u8 = 6;
    /// The client's name.
    pub const HOST_NAME: u8 = 12;
    /// The domain.
    pub const DOMAIN_NAME: u8 = 15;
    /// The address that the client would like.
    pub const REQUESTED: u8 = 50;
    /// For how many seconds the address is lent.
    pub const LEASE_TIME: u8 = 51;
    /// Discover 1, offer 2, request 3, decline 4, acknowledge 5, refuse 6, release 7, inform 8.
    pub const MESSAGE_TYPE: u8 = 53;
    /// The server.
    pub const SERVER: u8 = 54;
    /// What the client is.
    pub const VENDOR_CLASS: u8 = 60;
    /// By what the server is to know the client.
    pub const CLIENT_ID: u8 = 61;
}

/// A message that is there at least up to the client's hardware address. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct DhcpView<'a> {
    header: &'a [u8; 34],
    options: &'a [u8],
}

impl<'a> DhcpView<'a> {
    /// Looks at a message; one of BOOTP, and one that is cut short, has no options.
    ///
    /// # Errors
    /// When it is cut off before the end of the client's hardware address.
    pub fn new(message: &'a [u8]) -> Result<DhcpView<'a>, BadHeader> {
        let (header, _) = field::split::<34>(message, "DHCP header cut off")?;
        let options = message.get(OPTIONS..).unwrap_or_default();
        Ok(DhcpView {
            header,
            options: options.strip_prefix(&COOKIE).unwrap_or_default(),
        })
    }

    /// 1 from a client, 2 from a server.
    pub fn operation(&self) -> u8 {
        self.header[0]
    }

    /// What request and reply share.
    pub fn transaction(&self) -> u32 {
        field::u32::<4, 34>(self.header)
    }

    /// The address that the client has.
    pub fn client(&self) -> Ipv4Addr {
        field::bytes::<12, 4, 34>(self.header).into()
    }

    /// The address that the client gets.
    pub fn yours(&self) -> Ipv4Addr {
        field::bytes::<16, 4, 34>(self.header).into()
    }

    /// The next server.
    pub fn server(&self) -> Ipv4Addr {
        field::bytes::<20, 4, 34>(self.header).into()
    }

    /// The relay.
    pub fn relay(&self) -> Ipv4Addr {
        field::bytes::<24, 4, 34>(self.header).into()
    }

    /// The client's MAC address, if it is on an Ethernet.
    pub fn hardware(&self) -> Option<Mac> {
        (self.header[1] == 1 && self.header[2] == 6)
            .then(|| Mac(field::bytes::<28, 6, 34>(self.header)))
    }

    /// The values of the option of this number that are there.
    pub fn option(&self, number: u8) -> impl Iterator<Item = &'a [u8]> {
        Options(self.options)
            .filter(move |(kind, _)| *kind == number)
            .map(|(_, value)| value)
    }
}

/// Walks options: number and value of each. Ends at the end mark, and where an option is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        loop {
            match *self.0 {
                // Padding.
                [0, ref rest @ ..] => self.0 = rest,
                [255, ..] | [] | [_] => return None,
                [kind, length, ref rest @ ..] => {
                    let (value, rest) = rest.split_at_checked(length.into())?;
                    self.0 = rest;
                    return Some((kind, value));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn offer() -> Vec<u8> {
        let mut message = alloc::vec![0; 236];
        message[..8].copy_from_slice(&[2, 1, 6, 0, 1, 2, 3, 4]);
        message[16..20].copy_from_slice(&[10, 0, 0, 9]);
        message[28..34].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        message.extend(COOKIE);
        message.extend([
            0, 53, 1, 2, 12, 2, b'p', b'c', 54, 4, 10, 0, 0, 1, 255, 53, 1, 5,
        ]);
        message
    }

    #[test]
    fn an_offer_is_read_up_to_its_end_mark() {
        let message = offer();
        let view = DhcpView::new(&message).unwrap();
        assert_eq!((view.operation(), view.transaction()), (2, 0x0102_0304));
        assert_eq!(view.yours(), Ipv4Addr::new(10, 0, 0, 9));
        assert_eq!(view.hardware(), Some(Mac([2, 0, 0, 0, 0, 7])));
        let values = |number| view.option(number).collect::<Vec<_>>();
        assert_eq!(values(option::MESSAGE_TYPE), [[2]]);
        assert_eq!(values(option::HOST_NAME), [b"pc"]);
        assert_eq!(values(option::SERVER), [[10, 0, 0, 1]]);
        assert!(values(option::ROUTER).is_empty());
    }

    #[test]
    fn an_option_that_is_cut_off_is_none() {
        let message = offer();
        let view = DhcpView::new(&message[..249]).unwrap();
        assert_eq!(view.option(option::HOST_NAME).count(), 1);
        assert_eq!(view.option(option::SERVER).count(), 0);
        let cut = DhcpView::new(&message[..235]).unwrap();
        assert_eq!(
            (cut.hardware(), cut.option(53).count()),
            (view.hardware(), 0)
        );
        assert!(DhcpView::new(&message[..33]).is_err());
        // Without the cookie they are BOOTP's, which mean something else.
        let mut bootp = message;
        bootp[236] = 0;
        let view = DhcpView::new(&bootp).unwrap();
        assert_eq!(view.option(option::MESSAGE_TYPE).count(), 0);
    }
}
