//! Times to live.

use super::{Covering, pair, replace};
use crate::key::{Layers, Network};
use packet::ethernet::ethertype;
use packet::layers::{self, Next};

/// The time to live is zero or one: the packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTtl;

/// A header that has a time to live.
#[derive(Clone, Copy)]
enum Header {
    Mpls(usize),
    Ipv4(usize),
    Ipv6(usize),
}

impl Header {
    fn outermost(layers: &Layers) -> Option<Header> {
        let at = usize::from(layers.network_at);
        match layers.network {
            Network::Mpls => Some(Header::Mpls(at)),
            Network::Ipv4 => Some(Header::Ipv4(at)),
            Network::Ipv6 => Some(Header::Ipv6(at)),
            _ => None,
        }
    }

    /// The header that this one has directly behind it, if that has a time to live.
    fn next(self, frame: &[u8]) -> Option<Header> {
        let (kind, at) = match self {
            Header::Mpls(at) => (ethertype::MPLS, at),
            Header::Ipv4(at) => (ethertype::IPV4, at),
            Header::Ipv6(at) => (ethertype::IPV6, at),
        };
        let mut walk = layers::Layers::new(Next::Ethertype(kind), frame.get(at..)?);
        let second = walk.nth(1)?;
        let at = at + second.at;
        match second.header {
            layers::Header::Label(_) => Some(Header::Mpls(at)),
            layers::Header::Ipv4(_) => Some(Header::Ipv4(at)),
            layers::Header::Ipv6(_) => Some(Header::Ipv6(at)),
            _ => None,
        }
    }

    fn ttl(self, frame: &[u8]) -> u8 {
        let at = match self {
            Header::Mpls(at) => at + 3,
            Header::Ipv4(at) => at + 8,
            Header::Ipv6(at) => at + 7,
        };
        frame.get(at).copied().unwrap_or(0)
    }

    fn set_ttl(self, frame: &mut [u8], ttl: u8) {
        match self {
            Header::Mpls(at) => replace(frame, at + 3, [ttl], &[]),
            Header::Ipv6(at) => replace(frame, at + 7, [ttl], &[]),
            Header::Ipv4(at) => {
                let protocol = pair(frame, at + 8)[1];
                let sum = Covering::at(at + 10);
                replace(frame, at + 8, [ttl, protocol], &[Some(sum)]);
            }
        }
    }
}

/// The outermost header, if it is IP.
fn network(layers: &Layers) -> Option<Header> {
    Header::outermost(layers).filter(|header| !matches!(header, Header::Mpls(_)))
}

/// The outermost header, if it is MPLS.
fn mpls(layers: &Layers) -> Option<Header> {
    Header::outermost(layers).filter(|header| matches!(header, Header::Mpls(_)))
}

fn decrement(frame: &mut [u8], header: Option<Header>) -> Result<(), InvalidTtl> {
    let Some(header) = header else {
        return Ok(());
    };
    match header.ttl(frame) {
        0 | 1 => Err(InvalidTtl),
        ttl => {
            header.set_ttl(frame, ttl - 1);
            Ok(())
        }
    }
}

/// Sets the TTL or hop limit of IP.
pub fn set_nw_ttl(frame: &mut [u8], layers: &Layers, ttl: u8) {
    if let Some(header) = network(layers) {
        header.set_ttl(frame, ttl);
    }
}

/// Takes one off the TTL or hop limit of IP.
///
/// # Errors
/// When none would be left; then nothing changes.
pub fn dec_nw_ttl(frame: &mut [u8], layers: &Layers) -> Result<(), InvalidTtl> {
    decrement(frame, network(layers))
}

/// Sets the TTL of the outermost MPLS entry.
pub fn set_mpls_ttl(frame: &mut [u8], layers: &Layers, ttl: u8) {
    if let Some(header) = mpls(layers) {
        header.set_ttl(frame, ttl);
    }
}

/// Takes one off the TTL of the outermost MPLS entry.
///
/// # Errors
/// When none would be left; then nothing changes.
pub fn dec_mpls_ttl(frame: &mut [u8], layers: &Layers) -> Result<(), InvalidTtl> {
    decrement(frame, mpls(layers))
}

/// Copies the TTL of the second header that has one to the outermost.
pub fn copy_ttl_out(frame: &mut [u8], layers: &Layers) {
    let outer = Header::outermost(layers);
    if let Some((outer, inner)) = outer.and_then(|o| Some((o, o.next(frame)?))) {
        outer.set_ttl(frame, inner.ttl(frame));
    }
}

/// Copies the TTL of the outermost header that has one to the second.
pub fn copy_ttl_in(frame: &mut [u8], layers: &Layers) {
    let outer = Header::outermost(layers);
    if let Some((outer, inner)) = outer.and_then(|o| Some((o, o.next(frame)?))) {
        inner.set_ttl(frame, outer.ttl(frame));
    }
}
