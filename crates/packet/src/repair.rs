//! Checksums and lengths set right, after something else has been changed: by `sed`, by hand.
//!
//! Of IPv4, TCP, UDP, ICMP, ICMPv6, IGMP and GRE, in tunnels too (PPPoE, VXLAN, Geneve and IP's own), from the inside out. What
//! cannot be known is left and counted: the checksum of a fragment, and that of a packet that is not all there; and those of
//! other protocols. UDP and GRE without a checksum stay without, but for UDP over IPv6, which must have one (RFC 8200 section
//! 8.1) unless it is a tunnel (RFC 6935).

use crate::checksum::{Pseudo, Sum};
use crate::field::put_u16;
use crate::layers::{Header, Next, layers};
use crate::udp::UdpView;
use alloc::vec::Vec;

/// The ports of tunnels over UDP that may leave out the checksum over IPv6: GRE, VXLAN, Geneve, MPLS.
const TUNNELS: [u16; 4] = [4754, 4789, 6081, 6635];
/// The protocol numbers of IGMP, and of others with a checksum over their packet: DCCP, EIGRP, OSPF, PIM, VRRP, SCTP, UDP-Lite.
const IGMP: u8 = 2;
const OTHERS: [u8; 7] = [33, 88, 89, 103, 112, 132, 136];
/// The shortest frame on a wire: what is behind the packet in a frame no longer than this may be padding.
const PADDED: usize = 60;

/// What was set right, and what was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Checksums that were wrong: of IPv4, TCP, UDP, ICMP, ICMPv6 and GRE.
    pub ipv4: u64,
    /// Of TCP.
    pub tcp: u64,
    /// Of UDP.
    pub udp: u64,
    /// Of ICMP.
    pub icmp: u64,
    /// Of ICMPv6.
    pub icmpv6: u64,
    /// Of GRE.
    pub gre: u64,
    /// Of IGMP.
    pub igmp: u64,
    /// Lengths of IP, UDP and PPPoE that were wrong.
    pub lengths: u64,
    /// Fragments, whose checksum is that of a packet that is not here: left.
    pub fragments: u64,
    /// Packets that say that they are longer than they are, or not how long: left.
    pub truncated: u64,
    /// Packets of other protocols with a checksum (DCCP, EIGRP, OSPF, PIM, VRRP, SCTP, UDP-Lite): left.
    pub others: u64,
}

/// Sets frames right.
#[derive(Debug, Default)]
pub struct Repair {
    /// Those of IP, UDP and PPPoE go to the end of the frame, unless what is behind is padding.
    lengths: bool,
    /// What was done so far.
    pub counts: Counts,
    sums: Vec<Covered>,
}

/// A checksum, and what it covers.
#[derive(Clone, Copy, Debug)]
struct Covered {
    kind: Kind,
    at: usize,
    /// Where the bytes that it covers begin and end.
    begin: usize,
    end: usize,
    pseudo: Option<Pseudo>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ipv4,
    Tcp,
    Udp,
    Icmp,
    Icmpv6,
    Gre,
    Igmp,
}

impl Repair {
    /// Of checksums; and of lengths, if they are to be set right too.
    pub fn new(lengths: bool) -> Repair {
        Repair {
            lengths,
            ..Repair::default()
        }
    }

    /// Sets a frame right; whether anything was changed.
    pub fn frame(&mut self, frame: &mut [u8]) -> bool {
        let lengths = self.lengths && self.lengths(frame);
        let sums = self.sums(frame);
        lengths || sums
    }

    /// From the outside in, as a length says where the next header is looked for.
    fn lengths(&mut self, frame: &mut [u8]) -> bool {
        let (mut changed, mut index) = (false, 0);
        let mut end = frame.len();
        let padded = frame.len() <= PADDED;
        let mut fragment = false;
        while let Some(layer) = layers(frame).nth(index) {
            index += 1;
            // Where the length stands, what it leaves out, and what it says.
            let (place, without, told) = match layer.header {
                Header::Ipv4(ip) => {
                    fragment = ip.is_fragment();
                    (2, 0, usize::from(ip.total_length()))
                }
                Header::Ipv6(ip) => (4, 40, usize::from(ip.payload_length())),
                Header::Pppoe(pppoe) => (4, 6, usize::from(pppoe.length())),
                Header::Extension(extension) => {
                    fragment |= extension.fragment().is_some();
                    continue;
                }
                // That of a fragment is that of the whole.
                Header::Udp(udp) if !fragment => (4, 0, usize::from(udp.length())),
                _ => continue,
            };
            let (at, there) = (layer.at, end.saturating_sub(layer.at + without));
            // Super-frames have a length of more than 16 bits, or none.
            let right = match u16::try_from(there) {
                Ok(right) if told != 0 && !(padded && told <= there) => right,
                _ => told as u16,
            };
            if usize::from(right) != told {
                put_u16(frame, at + place, right);
                self.counts.lengths += 1;
                changed = true;
            }
            end = (at + without + usize::from(right)).min(end);
        }
        changed
    }

    fn sums(&mut self, frame: &mut [u8]) -> bool {
        self.plan(frame);
        let mut changed = false;
        while let Some(covered) = self.sums.pop() {
            changed |= self.sum(frame, covered);
        }
        changed
    }

    /// Finds the checksums, the outermost first.
    fn plan(&mut self, frame: &[u8]) {
        self.sums.clear();
        // Of the innermost IP packet: where it ends, what it adds to sums, and whether all of it is there.
        let (mut end, mut pseudo, mut whole) = (frame.len(), None, true);
        let mut is_six = false;
        let mut walk = layers(frame);
        for layer in walk.by_ref() {
            let at = layer.at;
            let (kind, place) = match layer.header {
                Header::Ipv4(ip) => {
                    let told = ip.stated_length().map_or(usize::MAX, |length| at + length);
                    self.sums.push(Covered {
                        kind: Kind::Ipv4,
                        at: at + 10,
                        begin: at,
                        end: at + ip.header_length(),
                        pseudo: None,
                    });
                    whole &= self.counts.is_whole(told <= end, ip.is_fragment());
                    end = told.min(end);
                    pseudo = Some(ip.pseudo());
                    is_six = false;
                    continue;
                }
                Header::Ipv6(ip) => {
                    let told = ip.stated_length().map_or(usize::MAX, |length| at + length);
                    let mut walk = ip.extensions();
                    let fragment = walk.by_ref().filter_map(|extension| extension.fragment());
                    let fragment =
                        fragment.fold(false, |any, part| any | part.more | (part.offset > 0));
                    whole &= self.counts.is_whole(told <= end, fragment);
                    end = told.min(end);
                    pseudo = Some(ip.pseudo(walk.protocol()));
                    is_six = true;
                    continue;
                }
                Header::Tcp(_) => (Kind::Tcp, 16),
                Header::Udp(udp) if has_checksum(udp, is_six) => {
                    let told = at + usize::from(udp.length());
                    if whole && udp.length() < 8 {
                        whole = self.counts.is_whole(false, false);
                        continue;
                    }
                    if whole && told > end {
                        whole = self.counts.is_whole(false, false);
                    }
                    end = told.min(end);
                    (Kind::Udp, 6)
                }
                Header::Icmp(_) => (Kind::Icmp, 2),
                Header::Icmpv6(_) => (Kind::Icmpv6, 2),
                Header::Gre(gre) if gre.has_checksum() => (Kind::Gre, 4),
                _ => continue,
            };
            if whole {
                let pseudo =
                    pseudo.filter(|_| matches!(kind, Kind::Tcp | Kind::Udp | Kind::Icmpv6));
                self.sums.push(Covered {
                    kind,
                    at: at + place,
                    begin: at,
                    end,
                    pseudo,
                });
            }
        }
        match (walk.next_header(), walk.at()) {
            (Next::Protocol(IGMP), at) if whole && at + 4 <= end => self.sums.push(Covered {
                kind: Kind::Igmp,
                at: at + 2,
                begin: at,
                end,
                pseudo: None,
            }),
            (Next::Protocol(protocol), _) if OTHERS.contains(&protocol) => self.counts.others += 1,
            _ => {}
        }
    }

    fn sum(&mut self, frame: &mut [u8], covered: Covered) -> bool {
        let Covered {
            kind,
            at,
            begin,
            end,
            pseudo,
        } = covered;
        let old = [frame[at], frame[at + 1]];
        frame[at..at + 2].fill(0);
        let sum = pseudo.map_or(Sum::default(), |pseudo| pseudo.sum(end - begin));
        let sum = sum.plus(&frame[begin..end]);
        let right = match kind {
            Kind::Udp => sum.udp_checksum(),
            _ => sum.checksum(),
        };
        put_u16(frame, at, right);
        // All ones and all zeros are the same number, of which only UDP means another by one.
        let wrong = old != right.to_be_bytes();
        let counts = &mut self.counts;
        *match kind {
            Kind::Ipv4 => &mut counts.ipv4,
            Kind::Tcp => &mut counts.tcp,
            Kind::Udp => &mut counts.udp,
            Kind::Icmp => &mut counts.icmp,
            Kind::Icmpv6 => &mut counts.icmpv6,
            Kind::Gre => &mut counts.gre,
            Kind::Igmp => &mut counts.igmp,
        } += u64::from(wrong);
        wrong
    }
}

/// Whether a datagram's checksum is to be right. Zero stands for none, which IPv6 allows in tunnels alone.
fn has_checksum(udp: UdpView<'_>, is_six: bool) -> bool {
    udp.checksum() != 0 || is_six && !TUNNELS.contains(&udp.destination_port())
}

impl Counts {
    /// Counts a packet whose inner checksums cannot be known.
    fn is_whole(&mut self, there: bool, fragment: bool) -> bool {
        self.truncated += u64::from(!there);
        self.fragments += u64::from(there && fragment);
        there && !fragment
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::craft::{Defaults, Template};
    use proptest::prelude::*;

    fn frame(text: &str) -> Vec<u8> {
        let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut frame = Vec::new();
        template.build(0, &Defaults::default(), &mut frame).unwrap();
        frame
    }

    fn repaired(lengths: bool, frame: &mut [u8]) -> Counts {
        let mut repair = Repair::new(lengths);
        repair.frame(frame);
        repair.counts
    }

    #[test]
    fn what_sed_changed_is_set_right_in_tunnels_too() {
        for (text, at, sums) in [
            ("ip/tcp/\"abc\"", 26, [1, 1, 0, 0, 0]),
            ("vlan/ip/udp/\"abc\"", 30, [1, 0, 1, 0, 0]),
            ("ip/icmp/\"abcd\"", 42, [0, 0, 0, 1, 0]),
            ("ipv6/icmpv6/\"abc\"", 22, [0, 0, 0, 0, 1]),
            ("ip/udp/vxlan/eth/ip/tcp/\"x\"", 76, [1, 1, 1, 0, 0]),
            ("ip/gre/ip/icmp/\"x\"", 52, [1, 0, 0, 0, 0]),
        ] {
            let mut frame = frame(text);
            assert_eq!(repaired(true, &mut frame), Counts::default(), "{text}");
            let sound = frame.clone();
            frame[at] ^= 0x10;
            let counts = repaired(false, &mut frame);
            let told = [
                counts.ipv4,
                counts.tcp,
                counts.udp,
                counts.icmp,
                counts.icmpv6,
            ];
            assert_eq!(told, sums, "{text}");
            // Back, and all is as it was.
            frame[at] ^= 0x10;
            repaired(false, &mut frame);
            assert_eq!(frame, sound, "{text}");
        }
    }

    /// A frame with the header of a tunnel before its IP packet, or before all of it.
    fn inside(tunnel: &str, inner: &str) -> Vec<u8> {
        let inner = frame(inner);
        let outer = |bytes: &[u8], carried: &[u8]| {
            let mut frame = frame("ip/udp(dport=6081,sport=9)");
            let udp = frame.len() - 8;
            frame.extend_from_slice(bytes);
            frame.extend_from_slice(carried);
            let length = frame.len();
            put_u16(&mut frame, 16, (length - 14) as u16);
            put_u16(&mut frame, udp + 4, (length - udp) as u16);
            repaired(false, &mut frame);
            frame
        };
        match tunnel {
            "pppoe" => {
                let length = (inner.len() - 14 + 2) as u16;
                let header = [0x88, 0x64, 0x11, 0, 0, 1, (length >> 8) as u8, length as u8];
                let protocol = match inner[12] {
                    0x08 => [0, 0x21],
                    _ => [0, 0x57],
                };
                [&inner[..12], &header, &protocol, &inner[14..]].concat()
            }
            // With one option of four bytes, and without.
            "geneve" => outer(&[1, 0, 0x65, 0x58, 0, 0, 9, 0, 1, 2, 3, 0], &inner),
            "geneve-ip" => outer(&[0, 0, inner[12], inner[13], 0, 0, 9, 0], &inner[14..]),
            _ => panic!("{tunnel}"),
        }
    }

    #[test]
    fn what_tunnels_without_a_checksum_carry_is_set_right() {
        for tunnel in ["pppoe", "geneve", "geneve-ip"] {
            for (inner, of) in [
                ("ip/tcp/\"abc\"", "tcp"),
                ("ip/udp/\"abc\"", "udp"),
                ("ip/icmp/\"abcd\"", "icmp"),
                ("ipv6/icmpv6/\"abc\"", "icmpv6"),
                ("ipv6/tcp/\"abc\"", "tcp"),
            ] {
                let sound = inside(tunnel, inner);
                let mut changed = sound.clone();
                assert_eq!(
                    repaired(false, &mut changed),
                    Counts::default(),
                    "{tunnel} {inner}"
                );
                let last = changed.len() - 1;
                changed[last] ^= 0x55;
                let counts = repaired(false, &mut changed);
                let inside = match of {
                    "tcp" => counts.tcp,
                    "udp" => counts.udp,
                    "icmp" => counts.icmp,
                    _ => counts.icmpv6,
                };
                assert_eq!(inside, 1, "{tunnel} {inner} {counts:?}");
                changed[last] ^= 0x55;
                repaired(false, &mut changed);
                assert_eq!(changed, sound, "{tunnel} {inner}");
            }
        }
        // Of another version, or cut off, it is data.
        let mut other = inside("geneve", "ip/tcp/\"abc\"");
        other[42] |= 0x40;
        let last = other.len() - 1;
        other[last] ^= 1;
        assert_eq!(repaired(false, &mut other).tcp, 0);
    }

    #[test]
    fn igmp_is_set_right_and_other_checksums_are_counted_as_left() {
        // A report of version 2 for 224.0.0.251.
        let mut igmp = frame("ip(proto=2)");
        igmp.extend([0x16, 0, 0, 0, 224, 0, 0, 251]);
        put_u16(&mut igmp, 16, 28);
        let counts = repaired(true, &mut igmp);
        assert_eq!((counts.igmp, counts.others), (1, 0));
        assert_eq!(igmp[36..38], [0x09, 0x04]);
        assert_eq!(repaired(true, &mut igmp), Counts::default());
        for (protocol, others) in [(89, 1), (103, 1), (112, 1), (132, 1), (50, 0), (253, 0)] {
            let mut left = frame("ip(proto=2)");
            left[23] = protocol;
            left.extend([7; 12]);
            let counts = repaired(true, &mut left);
            assert_eq!((counts.others, counts.igmp), (others, 0), "{protocol}");
            assert_eq!(left[34..], [7; 12]);
        }
    }

    #[test]
    fn udp_over_ipv6_has_a_checksum_unless_it_is_a_tunnel() {
        for (port, udp) in [(53, 1), (9, 1), (4789, 0), (6081, 0)] {
            let mut frame = frame("ipv6/udp/\"abc\"");
            let at = 54;
            put_u16(&mut frame, at + 2, port);
            put_u16(&mut frame, at + 6, 0);
            assert_eq!(repaired(false, &mut frame).udp, udp, "{port}");
            assert_eq!(frame[at + 6..at + 8] != [0, 0], udp == 1);
        }
        let mut four = frame("ip/udp(chksum=0)/\"abc\"");
        assert_eq!(repaired(false, &mut four).udp, 0);
    }

    #[test]
    fn lengths_go_to_the_end_of_the_frame_but_not_over_padding() {
        let mut longer = frame("ip/udp/\"abcdefghijklmnopqrstuvwxyz\"");
        longer.extend(b"and more");
        assert_eq!(repaired(false, &mut longer).lengths, 0);
        let counts = repaired(true, &mut longer);
        assert_eq!((counts.lengths, counts.ipv4, counts.udp), (2, 1, 1));
        assert_eq!(repaired(true, &mut longer), Counts::default());
        let mut padded = frame("ip/udp/\"a\"");
        padded.resize(60, 0);
        assert_eq!(repaired(true, &mut padded), Counts::default());
    }

    #[test]
    fn fragments_and_packets_cut_short_are_left_and_counted() {
        let mut part = frame("ip(flags=MF,chksum=1)/udp(chksum=7)/\"abc\"");
        let counts = repaired(true, &mut part);
        assert_eq!((counts.fragments, counts.ipv4, counts.udp), (1, 1, 0));
        assert_eq!(part[40..42], [0, 7]);
        let mut whole = frame("ip/tcp/\"abcdef\"");
        let length = whole.len() - 2;
        let counts = repaired(false, &mut whole[..length]);
        assert_eq!((counts.truncated, counts.tcp), (1, 0));
        let counts = repaired(true, &mut whole[..length]);
        assert_eq!((counts.truncated, counts.lengths, counts.tcp), (0, 1, 1));
        // How long it is, nobody knows: the network card would have cut it.
        let mut long = frame("ip/tcp/\"abcdef\"");
        long[16..18].fill(0);
        let counts = repaired(true, &mut long);
        assert_eq!((counts.truncated, counts.lengths, counts.tcp), (1, 0, 0));
        // No checksum is none that is wrong.
        let counts = repaired(true, &mut frame("ip/udp(chksum=0)/\"abc\""));
        assert_eq!(counts, Counts::default());
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic_and_what_is_right_stays(bytes in proptest::collection::vec(any::<u8>(), 0..120), lengths: bool) {
            let mut bytes = bytes;
            if bytes.len() > 30 {
                bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
            }
            repaired(lengths, &mut bytes);
            let once = bytes.clone();
            repaired(lengths, &mut bytes);
            prop_assert_eq!(once, bytes);
        }
    }
}
