//! Which packet answers which.

use packet::arp::Operation;
use packet::dns::DnsView;
use packet::ethernet::{EthernetView, Mac, ethertype};
use packet::icmp::Icmp;
use packet::icmpv6::Icmpv6;
use packet::ip::IpView;
use packet::layers::{Header, layers};
use packet::tcp::flag;
use packet::{dns, vlan};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a packet that was sent waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    asks: Asks,
    ip: Option<Quote>,
}

/// What an error of ICMP quotes of a packet: addresses, protocol, and the first bytes behind the header.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Quote {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    begin: [u8; 8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// Who has an address.
    Arp(Ipv4Addr),
    Neighbour(Ipv6Addr),
    /// ICMP echo, or ICMPv6's: identification and sequence number.
    Echo(u16, u16),
    /// Ports, and the number that acknowledges the segment.
    Tcp(u16, u16, u32),
    /// Ports, and the number of a question of DNS.
    Udp(u16, u16, Option<u16>),
    /// Whatever comes back of this protocol.
    Protocol(u8),
}

impl Question {
    /// Of a packet; `None` where nothing answers it: it is neither IP nor a question of ARP.
    pub fn of(frame: &[u8]) -> Option<Question> {
        let mut ip = None;
        let mut asks = None;
        for layer in layers(frame) {
            match layer.header {
                Header::Arp(arp) if arp.operation == Operation::Request => {
                    asks = Some(Asks::Arp(arp.target));
                }
                Header::Ipv4(_) | Header::Ipv6(_) if ip.is_none() => ip = quote(&frame[layer.at..]),
                Header::Icmp(icmp) if asks.is_none() => {
                    asks = match icmp.message() {
                        Icmp::EchoRequest {
                            identification,
                            sequence,
                        } => Some(Asks::Echo(identification, sequence)),
                        _ => None,
                    };
                }
                Header::Icmpv6(icmp) if asks.is_none() => {
                    asks = match icmp.message() {
                        Icmpv6::EchoRequest {
                            identification,
                            sequence,
                        } => Some(Asks::Echo(identification, sequence)),
                        Icmpv6::NeighbourSolicitation { target } => Some(Asks::Neighbour(target)),
                        _ => None,
                    };
                }
                Header::Tcp(tcp) if asks.is_none() => {
                    let marks = (tcp.flags() & flag::SYN != 0) as u32
                        + (tcp.flags() & flag::FIN != 0) as u32;
                    let length = tcp.payload().len() as u32 + marks;
                    let next = tcp.sequence().wrapping_add(length);
                    asks = Some(Asks::Tcp(tcp.source_port(), tcp.destination_port(), next));
                }
                Header::Udp(udp) if asks.is_none() => {
                    let query = (udp.destination_port() == dns::PORT)
                        .then(|| DnsView::new(udp.payload()).ok());
                    let id = query.flatten().map(|query| query.id());
                    asks = Some(Asks::Udp(udp.source_port(), udp.destination_port(), id));
                }
                _ => {}
            }
        }
        let other = ip.as_ref().map(|ip| Asks::Protocol(ip.protocol));
        Some(Question {
            asks: asks.or(other)?,
            ip,
        })
    }

    /// Whether a packet answers it, or is an error about it.
    pub fn is_answered_by(&self, frame: &[u8]) -> bool {
        let mut ends = None;
        for layer in layers(frame) {
            let answers = match layer.header {
                Header::Arp(arp) => {
                    arp.operation == Operation::Reply && self.asks == Asks::Arp(arp.sender)
                }
                Header::Ipv4(_) | Header::Ipv6(_) if ends.is_none() => {
                    ends = quote(&frame[layer.at..]);
                    let protocol = ends.as_ref().map_or(0, |ends| ends.protocol);
                    self.asks == Asks::Protocol(protocol) && self.turns(&ends)
                }
                Header::Icmp(icmp) => match icmp.message() {
                    Icmp::EchoReply {
                        identification,
                        sequence,
                    } => self.asks == Asks::Echo(identification, sequence) && self.comes_to(&ends),
                    Icmp::Unreachable { .. }
                    | Icmp::TimeExceeded { .. }
                    | Icmp::Redirect { .. }
                    | Icmp::Other { kind: 4 | 12, .. } => {
                        self.ip.is_some() && quote(icmp.payload()) == self.ip
                    }
                    _ => false,
                },
                Header::Icmpv6(icmp) => match icmp.message() {
                    Icmpv6::EchoReply {
                        identification,
                        sequence,
                    } => self.asks == Asks::Echo(identification, sequence) && self.comes_to(&ends),
                    Icmpv6::NeighbourAdvertisement { target, .. } => {
                        self.asks == Asks::Neighbour(target)
                    }
                    _ if icmp.kind() < 128 => self.ip.is_some() && quote(icmp.payload()) == self.ip,
                    _ => false,
                },
                Header::Tcp(tcp) => match self.asks {
                    Asks::Tcp(source, destination, next) => {
                        let both =
                            (tcp.destination_port(), tcp.source_port()) == (source, destination);
                        let acknowledged = tcp.acknowledgement() == next
                            || tcp.flags() & (flag::RST | flag::ACK) == flag::RST;
                        both && acknowledged && self.turns(&ends)
                    }
                    _ => false,
                },
                Header::Udp(udp) => match self.asks {
                    Asks::Udp(source, destination, id) => {
                        let both =
                            (udp.destination_port(), udp.source_port()) == (source, destination);
                        let same = id.is_none()
                            || DnsView::new(udp.payload()).ok().map(|dns| dns.id()) == id;
                        both && same && self.turns(&ends)
                    }
                    _ => false,
                },
                _ => false,
            };
            if answers {
                return true;
            }
        }
        false
    }

    /// Whether it comes from whom the question went to.
    fn turns(&self, ends: &Option<Quote>) -> bool {
        let sent_to = self.ip.as_ref().map(|ip| ip.destination);
        self.comes_to(ends) && sent_to == ends.as_ref().map(|ends| ends.source)
    }

    /// Whether it comes to who asked; a question to a group is answered from an address of its own.
    fn comes_to(&self, ends: &Option<Quote>) -> bool {
        self.ip.as_ref().map(|ip| ip.source) == ends.as_ref().map(|ends| ends.destination)
    }
}

/// The ends of an IP packet that begins here, which may be cut off behind eight bytes of payload.
fn quote(packet: &[u8]) -> Option<Quote> {
    let kind = match packet.first()? >> 4 {
        4 => ethertype::IPV4,
        _ => ethertype::IPV6,
    };
    let ip = IpView::new_any_length(kind, packet).ok()?;
    Some(Quote {
        source: ip.source(),
        destination: ip.destination(),
        protocol: ip.protocol(),
        begin: *packet.get(ip.header_length()..)?.first_chunk()?,
    })
}

/// Whose answer it is, on the link.
pub fn sender(frame: &[u8]) -> Option<Mac> {
    let tags = vlan::Tags::new(frame).ok()?;
    let arp =
        (tags.ethertype() == ethertype::ARP).then(|| packet::arp::Arp::parse(tags.payload()).ok());
    match arp.flatten() {
        Some(arp) => Some(arp.sender_mac),
        None => EthernetView::new(frame).ok().map(|view| view.source()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::craft::{Defaults, Template};

    fn frame(text: &str) -> Vec<u8> {
        let mut frame = Vec::new();
        let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        template.build(0, &Defaults::default(), &mut frame).unwrap();
        frame
    }

    #[test]
    fn answers_are_told_from_what_only_looks_like_one() {
        let back = "ip(src=10.0.0.2,dst=10.0.0.1)";
        let cases: [(&str, &[&str], &[&str]); 6] = [
            (
                "arp(pdst=10.0.0.9)",
                &["arp(op=is-at,psrc=10.0.0.9)"],
                &["arp(op=is-at,psrc=10.0.0.8)", "arp(pdst=10.0.0.9)"],
            ),
            (
                "ip/icmp(id=1,seq=2)",
                &["ip(src=10.0.0.2,dst=10.0.0.1)/icmp(type=echo-reply,id=1,seq=2)"],
                &[
                    "ip(src=10.0.0.2,dst=10.0.0.1)/icmp(type=echo-reply,id=1,seq=3)",
                    "ip/icmp(id=1,seq=2)",
                    "ip(src=10.0.0.2,dst=10.0.0.7)/icmp(type=echo-reply,id=1,seq=2)",
                ],
            ),
            (
                "ip/tcp(sport=5,dport=80,seq=9,flags=S)",
                &[
                    "tcp(sport=80,dport=5,ack=10,flags=SA)",
                    "tcp(sport=80,dport=5,ack=10,flags=RA)",
                ],
                &[
                    "tcp(sport=80,dport=5,ack=11,flags=SA)",
                    "tcp(sport=81,dport=5,ack=10,flags=SA)",
                ],
            ),
            (
                "ip/udp(sport=5)/dns(id=7)",
                &["udp(sport=53,dport=5)/dns(id=7)"],
                &[
                    "udp(sport=53,dport=5)/dns(id=8)",
                    "udp(sport=53,dport=5)/\"x\"",
                ],
            ),
            (
                "ip/udp(sport=5,dport=6)/\"x\"",
                &[
                    "udp(sport=6,dport=5)",
                    "icmp(type=unreachable,code=3)/ip/udp(sport=5,dport=6)/\"x\"",
                    "icmp(type=time-exceeded)/ip/udp(sport=5,dport=6)/\"x\"",
                ],
                &[
                    "icmp(type=unreachable,code=3)/ip/udp(sport=5,dport=7)/\"x\"",
                    "tcp(sport=6,dport=5)",
                ],
            ),
            (
                "ipv6/icmpv6(type=neighbour-solicitation,target=fd00::9)",
                &[
                    "ipv6(src=fd00::9,dst=fd00::1)/icmpv6(type=neighbour-advertisement,target=fd00::9)",
                ],
                &[
                    "ipv6(src=fd00::9,dst=fd00::1)/icmpv6(type=neighbour-advertisement,target=fd00::8)",
                ],
            ),
        ];
        for (sent, answers, others) in cases {
            let question = Question::of(&frame(sent)).unwrap();
            let whole = |text: &&str| match text.starts_with("ip") || text.starts_with("arp") {
                true => frame(text),
                false => frame(&format!("{back}/{text}")),
            };
            for text in answers {
                assert!(question.is_answered_by(&whole(text)), "{sent}: {text}");
            }
            for text in others {
                assert!(!question.is_answered_by(&whole(text)), "{sent}: {text}");
            }
        }
        assert_eq!(Question::of(&frame("eth/\"nothing\"")), None);
    }
}
