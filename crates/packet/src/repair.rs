//! Checksums and lengths set right, after something else has been changed: by `sed`, by hand.
//!
//! Of IPv4, TCP, UDP, ICMP, ICMPv6 and GRE, in tunnels too, from the inside out. What cannot be known is left and counted: the
//! checksum of a fragment, and that of a packet that is not all there. UDP and GRE without a checksum stay without.

use crate::checksum::{Pseudo, Sum};
use crate::field::put_u16;
use crate::layers::{Header, layers};
use alloc::vec::Vec;

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
    /// Lengths of IP and UDP that were wrong.
    pub lengths: u64,
    /// Fragments, whose checksum is that of a packet that is not here: left.
    pub fragments: u64,
    /// Packets that say that they are longer than they are, or not how long: left.
    pub truncated: u64,
}

/// Sets frames right.
#[derive(Debug, Default)]
pub struct Repair {
    /// Those of IP and UDP go to the end of the frame, unless what is behind is padding.
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
        for layer in layers(frame) {
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
                    continue;
                }
                Header::Tcp(_) => (Kind::Tcp, 16),
                Header::Udp(udp) if udp.checksum() != 0 => {
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
        } += u64::from(wrong);
        wrong
    }
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
