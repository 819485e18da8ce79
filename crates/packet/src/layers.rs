//! The headers of a frame, from the outside in.
//!
//! [`layers`] walks over Ethernet with its tags, MPLS, PPPoE, ARP, IPv4 with options, IPv6 with
//! extension headers, what IP carries, and the tunnels IP in IP, GRE, VXLAN and Geneve. Each [`Layer`] has the place of a header and a view of it. When the walk has ended,
//! [`next_header`](Layers::next_header), [`at`](Layers::at) and [`rest`](Layers::rest) tell what is behind the last header, and
//! [`bad`](Layers::bad) and [`cut`](Layers::cut) what is malformed or missing.
//!
//! ```
//! use packet::layers::{Header, Next, layers};
//!
//! let mut frame = [0u8; 60];
//! frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
//! frame[26..40].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 16, 0, 0, 26]);
//! let mut walk = layers(&frame);
//! let udp = walk.find_map(|layer| match layer.header {
//!     Header::Udp(view) => Some((layer.at, view.destination_port())),
//!     _ => None,
//! });
//! assert_eq!(udp, Some((34, 4096)));
//! assert_eq!((walk.next_header(), walk.at(), walk.rest().len()), (Next::Data, 42, 18));
//! ```
//!
//! Nothing is allocated, and no bytes make it panic. Each step is that of one header's own reader, such as
//! [`Ipv4View`] or [`Extension::split`]; what needs only the outermost IP packet takes these through
//! [`vlan::untagged`](crate::vlan::untagged) and [`IpView`](crate::ip::IpView).

use crate::BadHeader;
use crate::arp::Arp;
use crate::ethernet::{EthernetView, ethertype};
use crate::geneve::{self, GeneveView};
use crate::gre::GreView;
use crate::icmp::IcmpView;
use crate::icmpv6::Icmpv6View;
use crate::ipv4::{Ipv4View, protocol};
use crate::ipv6::{Extension, Ipv6View};
use crate::mpls::Label;
use crate::pppoe::{self, PppoeView};
use crate::tcp::TcpView;
use crate::udp::UdpView;
use crate::vlan::{Tag, is_tag};
use crate::vxlan::{self, VxlanView};

/// The headers of an Ethernet frame without FCS, the outermost first.
pub fn layers(frame: &[u8]) -> Layers<'_> {
    Layers::new(Next::Ethernet, frame)
}

/// The ports at the beginning of a header of TCP or UDP, which may be cut off behind them.
pub fn ports(header: &[u8]) -> Option<(u16, u16)> {
    let [a, b, c, d] = *header.first_chunk()?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// A header, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// The offset of its first byte.
    pub at: usize,
    /// What it is, and what it says.
    pub header: Header<'a>,
}

/// A header whose own bytes are all there, but for the options of TCP. They and the payload of its
/// view may end early, and a length of IPv4, TCP or UDP may make no sense: see [`Layers::cut`].
#[derive(Clone, Copy, Debug)]
pub enum Header<'a> {
    /// Ethernet, without tags.
    Ethernet(EthernetView<'a>),
    /// A tag of 802.1Q or 802.1ad.
    Tag(Tag),
    /// An entry of an MPLS label stack.
    Label(Label),
    /// PPP over Ethernet, with PPP's protocol in a session.
    Pppoe(PppoeView<'a>),
    /// ARP or reverse ARP for IPv4 over Ethernet.
    Arp(Arp),
    /// IPv4 with its options.
    Ipv4(Ipv4View<'a>),
    /// IPv6 without its extension headers.
    Ipv6(Ipv6View<'a>),
    /// An extension header of IPv6, or the authentication header of either version.
    Extension(Extension<'a>),
    /// TCP with its options.
    Tcp(TcpView<'a>),
    /// UDP.
    Udp(UdpView<'a>),
    /// ICMP.
    Icmp(IcmpView<'a>),
    /// ICMPv6; of neighbour discovery the target address belongs to it.
    Icmpv6(Icmpv6View<'a>),
    /// GRE.
    Gre(GreView<'a>),
    /// VXLAN.
    Vxlan(VxlanView<'a>),
    /// Geneve with its options.
    Geneve(GeneveView<'a>),
}

/// What is behind a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An Ethernet frame.
    Ethernet,
    /// What this EtherType says; below [`ethertype::LOWEST`] it is the length of an 802.3 payload.
    Ethertype(u16),
    /// Another entry of an MPLS label stack.
    Label,
    /// Name of a PPP protocol without an EtherType here.
    Ppp(u16),
    /// What this protocol number of IP says.
    Protocol(u8),
    /// A piece of a packet whose first fragment has the header of this protocol.
    LaterFragment(u8),
    /// A VXLAN header.
    Vxlan,
    /// A Geneve header.
    Geneve,
    /// Payload, of which no header says what it is.
    Data,
}

/// The walk over the headers of a frame.
///
/// It ends where a header is not known here, behind the last one, or where one is cut off or malformed. What follows the packet
/// by its own lengths, such as padding, is not looked at.
#[derive(Clone, Debug)]
pub struct Layers<'a> {
    next: Next,
    at: usize,
    rest: &'a [u8],
    /// Whether the innermost IP header is that of version 6, which has extension headers.
    six: bool,
    /// Whether the innermost IP packet is a fragment: lengths behind its header are those of the whole.
    fragment: bool,
    bad: Option<BadHeader>,
    cut: Option<BadHeader>,
    /// What the innermost IP packet claims behind the end of `rest`.
    beyond: usize,
    /// How many bytes of the innermost packet the capture has cut off, if that is known.
    missing: Option<usize>,
}

impl<'a> Layers<'a> {
    /// A walk over bytes that begin with a header of this kind.
    pub fn new(next: Next, bytes: &'a [u8]) -> Layers<'a> {
        Layers {
            next,
            at: 0,
            rest: bytes,
            six: false,
            fragment: false,
            bad: None,
            cut: None,
            beyond: 0,
            missing: None,
        }
    }

    /// The same over bytes that were `length` before the capture cut them short: what a packet
    /// claims beyond that was on no wire.
    #[must_use]
    pub fn of_length(self, length: usize) -> Layers<'a> {
        let missing = Some(length.saturating_sub(self.rest.len()));
        Layers { missing, ..self }
    }

    /// What is behind the headers taken so far.
    pub fn next_header(&self) -> Next {
        self.next
    }

    /// Its offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Its bytes, up to the end of the packet that it is in.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Why the walk ended before a header: it is cut off or malformed.
    pub fn bad(&self) -> Option<BadHeader> {
        self.bad
    }

    /// The outermost packet whose own length claims more bytes than there are, or fewer than its
    /// header has.
    pub fn cut(&self) -> Option<BadHeader> {
        self.cut
    }

    /// How many bytes the innermost IP packet claims behind [`rest`](Layers::rest): no more than
    /// the capture has cut off, where that is [known](Layers::of_length).
    pub fn beyond(&self) -> usize {
        self.beyond
    }

    /// Reads the next header.
    fn step(&mut self) -> Result<Option<Step<'a>>, BadHeader> {
        let rest = self.rest;
        let step = match self.next {
            Next::Ethernet | Next::Ethertype(ethertype::BRIDGED) => {
                let view = EthernetView::new(rest)?;
                let next = Next::Ethertype(view.ethertype());
                Step::over(Header::Ethernet(view), next, view.payload(), rest)
            }
            Next::Ethertype(kind) if is_tag(kind) => {
                let cut = BadHeader("VLAN tag cut off");
                let (&[c, d, next @ ..], payload) = rest.split_first_chunk::<4>().ok_or(cut)?;
                let [a, b] = kind.to_be_bytes();
                let next = Next::Ethertype(u16::from_be_bytes(next));
                Step::over(
                    Header::Tag(Tag::from_bytes([a, b, c, d])),
                    next,
                    payload,
                    rest,
                )
            }
            Next::Ethertype(ethertype::MPLS | ethertype::MPLS_MULTICAST) | Next::Label => {
                let (label, bottom, payload) = Label::split(rest)?;
                let next = match payload.first().map(|byte| byte >> 4) {
                    _ if !bottom => Next::Label,
                    Some(4) => Next::Ethertype(ethertype::IPV4),
                    Some(6) => Next::Ethertype(ethertype::IPV6),
                    _ => Next::Data,
                };
                Step::over(Header::Label(label), next, payload, rest)
            }
            Next::Ethertype(ethertype::PPPOE_DISCOVERY | ethertype::PPPOE_SESSION) => {
                let view = PppoeView::new(rest)?;
                if view.is_cut() {
                    self.cut = self.cut.or(Some(BadHeader("PPPoE packet cut off")));
                }
                let (next, payload) = match view.packet()? {
                    None => (Next::Data, view.payload()),
                    Some((pppoe::IPV4, packet)) => (Next::Ethertype(ethertype::IPV4), packet),
                    Some((pppoe::IPV6, packet)) => (Next::Ethertype(ethertype::IPV6), packet),
                    Some((pppoe::MPLS, packet)) => (Next::Ethertype(ethertype::MPLS), packet),
                    Some((protocol, packet)) => (Next::Ppp(protocol), packet),
                };
                let length = 6 + view.payload().len() - payload.len();
                Step::new(Header::Pppoe(view), length, next, payload)
            }
            Next::Ethertype(ethertype::ARP | ethertype::RARP) => {
                let arp = Arp::parse(rest)?;
                Step::new(Header::Arp(arp), 28, Next::Data, &rest[28..])
            }
            Next::Ethertype(ethertype::IPV4) | Next::Protocol(protocol::IPV4) => self.ipv4()?,
            Next::Ethertype(ethertype::IPV6) | Next::Protocol(protocol::IPV6) => self.ipv6()?,
            Next::Protocol(number) => match self.upper(number)? {
                Some(step) => step,
                None => return Ok(None),
            },
            Next::Vxlan => {
                let view = VxlanView::new(rest)?;
                Step::over(Header::Vxlan(view), Next::Ethernet, view.frame(), rest)
            }
            Next::Geneve => {
                let view = GeneveView::new(rest)?;
                let next = Next::Ethertype(view.protocol());
                Step::over(Header::Geneve(view), next, view.payload(), rest)
            }
            Next::Ethertype(_) | Next::Ppp(_) | Next::LaterFragment(_) | Next::Data => {
                return Ok(None);
            }
        };
        Ok(Some(step))
    }

    /// Compares the length that an IP packet states with what is there.
    fn claim(&mut self, stated: Option<usize>, cut: &'static str) {
        let there = self.rest.len();
        if stated.is_some_and(|stated| stated > there) {
            self.cut = self.cut.or(Some(BadHeader(cut)));
        }
        // A packet without a length goes to the end of what there was.
        let claimed = stated.map_or(self.missing.unwrap_or(0), |stated| {
            stated.saturating_sub(there)
        });
        self.beyond = claimed.min(self.missing.unwrap_or(claimed));
        self.missing = self.missing.map(|_| self.beyond);
    }

    fn ipv4(&mut self) -> Result<Step<'a>, BadHeader> {
        let view = match Ipv4View::new_cut(self.rest) {
            Ok(view) => view,
            // By its own length there is nothing behind the header, which is all there.
            Err(bad) => {
                let view = Ipv4View::new_any_length(self.rest)?;
                let length = view.header_length();
                self.cut = self.cut.or(Some(bad));
                self.beyond = 0;
                let nothing = &self.rest[length..length];
                return Ok(Step::new(Header::Ipv4(view), length, Next::Data, nothing));
            }
        };
        (self.six, self.fragment) = (false, view.is_fragment());
        self.claim(view.stated_length(), "IPv4 packet cut off");
        let next = match view.fragment_offset() {
            0 => Next::Protocol(view.protocol()),
            _ => Next::LaterFragment(view.protocol()),
        };
        let length = view.header_length();
        Ok(Step::new(Header::Ipv4(view), length, next, view.payload()))
    }

    fn ipv6(&mut self) -> Result<Step<'a>, BadHeader> {
        let view = Ipv6View::new_cut(self.rest)?;
        (self.six, self.fragment) = (true, false);
        self.claim(view.stated_length(), "IPv6 packet cut off");
        let next = Next::Protocol(view.next_header());
        Ok(Step::new(Header::Ipv6(view), 40, next, view.payload()))
    }

    /// An extension header, or what IP carries.
    fn upper(&mut self, number: u8) -> Result<Option<Step<'a>>, BadHeader> {
        let rest = self.rest;
        if (self.six || number == protocol::AUTHENTICATION)
            && let Some(split) = Extension::split(number, rest)
        {
            let (extension, follows, payload) = split?;
            let part = extension.fragment();
            self.fragment |= part.is_some_and(|part| part.more || part.offset > 0);
            let next = match part {
                Some(part) if part.offset > 0 => Next::LaterFragment(follows),
                _ => Next::Protocol(follows),
            };
            return Ok(Some(Step::over(
                Header::Extension(extension),
                next,
                payload,
                rest,
            )));
        }
        Ok(Some(match number {
            protocol::TCP => {
                let view = TcpView::new_cut(rest)?;
                self.cut = self.cut.or(view.bad_length());
                Step::over(Header::Tcp(view), Next::Data, view.payload(), rest)
            }
            protocol::UDP => {
                let view = UdpView::new_any_length(rest)?;
                if !self.fragment || view.length() < 8 {
                    self.cut = self.cut.or(UdpView::new(rest).err());
                }
                let payload = view.payload();
                let next = match view.destination_port() {
                    vxlan::PORT if VxlanView::new(payload).is_ok() => Next::Vxlan,
                    geneve::PORT if GeneveView::new(payload).is_ok() => Next::Geneve,
                    _ => Next::Data,
                };
                Step::new(Header::Udp(view), 8, next, view.payload())
            }
            protocol::ICMP => {
                let view = IcmpView::new(rest)?;
                Step::over(Header::Icmp(view), Next::Data, view.payload(), rest)
            }
            protocol::ICMPV6 => {
                let view = Icmpv6View::new(rest)?;
                Step::over(Header::Icmpv6(view), Next::Data, view.payload(), rest)
            }
            protocol::GRE => {
                let view = GreView::new(rest)?;
                let next = Next::Ethertype(view.protocol());
                Step::over(Header::Gre(view), next, view.payload(), rest)
            }
            _ => return Ok(None),
        }))
    }
}

impl<'a> Iterator for Layers<'a> {
    type Item = Layer<'a>;

    fn next(&mut self) -> Option<Layer<'a>> {
        if self.bad.is_some() {
            return None;
        }
        let step = match self.step() {
            Ok(step) => step?,
            Err(bad) => {
                self.bad = Some(bad);
                return None;
            }
        };
        let at = self.at;
        (self.at, self.next, self.rest) = (at + step.length, step.next, step.payload);
        Some(Layer {
            at,
            header: step.header,
        })
    }
}

/// A header, its length, and what is behind it.
struct Step<'a> {
    header: Header<'a>,
    length: usize,
    next: Next,
    payload: &'a [u8],
}

impl<'a> Step<'a> {
    fn new(header: Header<'a>, length: usize, next: Next, payload: &'a [u8]) -> Step<'a> {
        Step {
            header,
            length,
            next,
            payload,
        }
    }

    /// Over a header at the front of `bytes` whose payload goes to their end.
    fn over(header: Header<'a>, next: Next, payload: &'a [u8], bytes: &[u8]) -> Step<'a> {
        Step::new(header, bytes.len() - payload.len(), next, payload)
    }
}

#[cfg(test)]
mod tests;
