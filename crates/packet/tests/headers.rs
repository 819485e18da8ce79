//! Header views and builders do what those of `etherparse` do, on the same random packets.

use etherparse::{
    Ipv4HeaderSlice, Ipv6ExtensionsSlice, Ipv6HeaderSlice, PacketBuilder, TcpSlice, UdpSlice,
};
use packet::arp::{Arp, Operation};
use packet::checksum::Pseudo;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::flow;
use packet::icmp::Icmp;
use packet::icmpv6::Icmpv6;
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::ipv6::{Ipv6, Ipv6View};
use packet::tcp::{Tcp, TcpOption, TcpView};
use packet::udp::{Udp, UdpView};
use packet::vlan::Tag;
use proptest::collection::vec;
use proptest::prelude::*;

const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

fn frame(tags: &[Tag], kind: u16, payload: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (source, destination) = (Mac(MACS[0]), Mac(MACS[1]));
    let mut out = Vec::new();
    Ethernet {
        destination,
        source,
        tags,
        ethertype: kind,
    }
    .build(&mut out, payload);
    out
}

/// A packet of one of the kinds that both sides build.
#[derive(Clone, Copy, Debug)]
enum Upper {
    Udp,
    Tcp,
    Echo,
}

fn upper() -> impl Strategy<Value = Upper> {
    prop_oneof![Just(Upper::Udp), Just(Upper::Tcp), Just(Upper::Echo)]
}

/// Numbers for whatever fields a packet has.
type Numbers = (u16, u16, u32, u16);

fn ours_v4(hosts: [[u8; 4]; 2], ttl: u8, kind: Upper, n: Numbers, payload: &[u8]) -> Vec<u8> {
    let number = match kind {
        Upper::Udp => protocol::UDP,
        Upper::Tcp => protocol::TCP,
        Upper::Echo => protocol::ICMP,
    };
    let ip = Ipv4::new(hosts[0].into(), hosts[1].into(), number);
    let ip = Ipv4 {
        hop_limit: ttl,
        ..ip
    };
    let mut out = Vec::new();
    ip.build(&mut out, |out| {
        build_upper(kind, n, ip.pseudo(), payload, out)
    });
    out
}

fn build_upper(kind: Upper, n: Numbers, pseudo: Pseudo, payload: &[u8], out: &mut Vec<u8>) {
    let payload = |out: &mut Vec<u8>| out.extend_from_slice(payload);
    match kind {
        Upper::Udp => {
            Udp {
                source_port: n.0,
                destination_port: n.1,
            }
            .build(pseudo, out, payload);
        }
        Upper::Tcp => {
            let options = [TcpOption::MaximumSegment(1460), TcpOption::SackPermitted];
            let tcp = Tcp {
                source_port: n.0,
                destination_port: n.1,
                sequence: n.2,
                acknowledgement: 0,
                flags: packet::tcp::flag::SYN,
                window: n.3,
                urgent: 0,
                options: &options,
            };
            tcp.build(pseudo, out, payload);
        }
        Upper::Echo => {
            Icmp::EchoRequest {
                identification: n.0,
                sequence: n.1,
            }
            .build(out, payload);
        }
    }
}

proptest! {
    #[test]
    fn ipv4_packets_are_built_alike(
        hosts: [[u8; 4]; 2], ttl: u8, kind in upper(), n: Numbers, payload in vec(any::<u8>(), 0..100),
        tags: Option<(u16, u16)>,
    ) {
        let mut theirs = Vec::new();
        let start = PacketBuilder::ethernet2(MACS[0], MACS[1]);
        let tags = tags.map(|(outer, inner)| [outer & 0xFFF, inner & 0xFFF]);
        let ip = match tags {
            None => start.ipv4(hosts[0], hosts[1], ttl),
            Some([outer, inner]) => start
                .double_vlan(outer.try_into().unwrap(), inner.try_into().unwrap())
                .ipv4(hosts[0], hosts[1], ttl),
        };
        match kind {
            Upper::Udp => ip.udp(n.0, n.1).write(&mut theirs, &payload).unwrap(),
            Upper::Tcp => {
                use etherparse::TcpOptionElement::{MaximumSegmentSize, SelectiveAcknowledgementPermitted};
                let options = [MaximumSegmentSize(1460), SelectiveAcknowledgementPermitted];
                let tcp = ip.tcp(n.0, n.1, n.2, n.3).syn().options(&options).unwrap();
                tcp.write(&mut theirs, &payload).unwrap();
            }
            Upper::Echo => ip.icmpv4_echo_request(n.0, n.1).write(&mut theirs, &payload).unwrap(),
        }
        let tags = tags.map(|[outer, inner]| {
            [Tag { ethertype: ethertype::SERVICE_VLAN, ..Tag::new(outer) }, Tag::new(inner)]
        });
        let tags = tags.as_ref().map_or(&[][..], |tags| &tags[..]);
        let ours = frame(tags, ethertype::IPV4, |out| {
            out.extend(ours_v4(hosts, ttl, kind, n, &payload));
        });
        prop_assert_eq!(&ours, &theirs);

        let tuple = flow::five_tuple(&ours).unwrap();
        prop_assert_eq!(tuple.hash(), flow::hash(&ours));
        let ports = if matches!(kind, Upper::Echo) { (0, 0) } else { (n.0, n.1) };
        prop_assert_eq!((tuple.source_port, tuple.destination_port), ports);
    }

    #[test]
    fn ipv6_packets_are_built_alike(
        hosts: [[u8; 16]; 2], ttl: u8, n: Numbers, payload in vec(any::<u8>(), 0..100), echo: bool,
    ) {
        let mut theirs = Vec::new();
        let ip = PacketBuilder::ethernet2(MACS[0], MACS[1]).ipv6(hosts[0], hosts[1], ttl);
        let number = match echo {
            true => {
                ip.icmpv6_echo_request(n.0, n.1).write(&mut theirs, &payload).unwrap();
                protocol::ICMPV6
            }
            false => {
                ip.udp(n.0, n.1).write(&mut theirs, &payload).unwrap();
                protocol::UDP
            }
        };
        let ip = Ipv6::new(hosts[0].into(), hosts[1].into(), number);
        let ip = Ipv6 { hop_limit: ttl, ..ip };
        let ours = frame(&[], ethertype::IPV6, |out| {
            ip.build(out, |out| match echo {
                true => {
                    let message = Icmpv6::EchoRequest { identification: n.0, sequence: n.1 };
                    message.build(ip.pseudo(), out, |out| out.extend_from_slice(&payload));
                }
                false => build_upper(Upper::Udp, n, ip.pseudo(), &payload, out),
            });
        });
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn arp_packets_are_built_alike(hosts: [[u8; 4]; 2], macs: [[u8; 6]; 2], operation: u16) {
        let theirs = etherparse::ArpEthIpv4Packet {
            operation: etherparse::ArpOperation(operation),
            sender_mac: macs[0],
            sender_ipv4: hosts[0],
            target_mac: macs[1],
            target_ipv4: hosts[1],
        };
        let ours = Arp {
            operation: match operation {
                1 => Operation::Request,
                2 => Operation::Reply,
                other => Operation::Other(other),
            },
            sender_mac: Mac(macs[0]),
            sender: hosts[0].into(),
            target_mac: Mac(macs[1]),
            target: hosts[1].into(),
        };
        let mut out = Vec::new();
        ours.build(&mut out);
        prop_assert_eq!(&out[..], &theirs.to_bytes()[..]);
        prop_assert_eq!(Arp::parse(&out), Ok(ours));
    }

    /// Good packets with some bytes changed and the end cut off: both sides take or refuse the
    /// same ones, and see the same fields.
    #[test]
    fn spoilt_ipv4_headers_are_read_alike(
        hosts: [[u8; 4]; 2], kind in upper(), n: Numbers, payload in vec(any::<u8>(), 0..60),
        spoil in vec((0..40usize, any::<u8>()), 0..3), cut in 0..100usize,
    ) {
        let mut bytes = ours_v4(hosts, 64, kind, n, &payload);
        for (at, value) in spoil {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(bytes.len().saturating_sub(cut.saturating_sub(40)));
        let (ours, theirs) = (Ipv4View::new_cut(&bytes), Ipv4HeaderSlice::from_slice(&bytes));
        // They look at the total length later.
        let sane = theirs.as_ref().is_ok_and(|header| {
            usize::from(header.total_len()) >= header.slice().len()
        });
        prop_assert_eq!(ours.is_ok(), sane, "{:?} {:?}", ours, theirs);
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(()) };
        prop_assert_eq!(ours.source(), theirs.source_addr());
        prop_assert_eq!(ours.destination(), theirs.destination_addr());
        prop_assert_eq!(ours.options(), theirs.options());
        prop_assert_eq!(ours.protocol(), theirs.protocol().0);
        prop_assert_eq!(ours.hop_limit(), theirs.ttl());
        prop_assert_eq!(ours.identification(), theirs.identification());
        prop_assert_eq!(ours.dont_fragment(), theirs.dont_fragment());
        prop_assert_eq!(ours.more_fragments(), theirs.more_fragments());
        prop_assert_eq!(ours.fragment_offset(), theirs.fragments_offset().byte_offset().into());
        let right = theirs.to_header().calc_header_checksum() == theirs.header_checksum();
        // The reserved bit is no part of their header.
        if theirs.slice()[6] & 0x80 == 0 {
            prop_assert_eq!(ours.is_checksum_valid(), right);
        }
        let payload = ours.payload();
        match kind {
            Upper::Udp => udp_alike(payload)?,
            Upper::Tcp => tcp_alike(payload)?,
            Upper::Echo => {}
        }
    }

    #[test]
    fn spoilt_ipv6_extension_headers_are_read_alike(
        hosts: [[u8; 16]; 2],
        first in prop_oneof![Just(0u8), Just(43), Just(44), Just(51), Just(60), any::<u8>()],
        chain in vec((prop_oneof![Just(17u8), Just(43), Just(44), Just(51), Just(60)], 0..3u8, any::<u8>()), 0..5),
        rest in vec(any::<u8>(), 0..40), cut in 0..30usize,
    ) {
        let ip = Ipv6::new(hosts[0].into(), hosts[1].into(), first);
        let mut bytes = Vec::new();
        ip.build(&mut bytes, |out| {
            for (next, length, fill) in &chain {
                out.extend([*next, *length]);
                out.extend(std::iter::repeat_n(*fill & 0xF9, usize::from(*length) * 8 + 6));
            }
            out.extend(&rest);
        });
        bytes.truncate(bytes.len().saturating_sub(cut));
        let ours = Ipv6View::new_cut(&bytes);
        let theirs = Ipv6HeaderSlice::from_slice(&bytes);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
        let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(()) };
        prop_assert_eq!(ours.source(), theirs.source_addr());
        prop_assert_eq!(ours.destination(), theirs.destination_addr());
        prop_assert_eq!(ours.next_header(), theirs.next_header().0);
        prop_assert_eq!(usize::from(ours.payload_length()), usize::from(theirs.payload_length()));
        // They refuse hop-by-hop options anywhere but first, and stop at a fragment of any kind
        // and at the third of some headers: where they go on to the end, so must we.
        let walked = Ipv6ExtensionsSlice::from_slice(theirs.next_header(), ours.payload());
        if let Ok((extensions, next, payload)) = walked && !extensions.is_fragmenting_payload() {
            let mut walk = ours.extensions();
            let mut length = 0;
            for extension in walk.by_ref() {
                length += extension.bytes.len();
                if length == extensions.slice().len() {
                    break;
                }
            }
            if !extensions.slice().is_empty() {
                prop_assert_eq!((walk.protocol(), walk.payload()), (next.0, payload));
            }
        }
    }
}

fn udp_alike(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (ours, theirs) = (UdpView::new(bytes), UdpSlice::from_slice(bytes));
    // Length zero is a jumbogram to them.
    if theirs.as_ref().is_ok_and(|udp| udp.length() == 0) {
        return Ok(());
    }
    prop_assert_eq!(ours.is_ok(), theirs.is_ok());
    let (Ok(ours), Ok(theirs)) = (ours, theirs) else {
        return Ok(());
    };
    prop_assert_eq!(ours.source_port(), theirs.source_port());
    prop_assert_eq!(ours.destination_port(), theirs.destination_port());
    prop_assert_eq!(ours.checksum(), theirs.checksum());
    prop_assert_eq!(ours.payload(), theirs.payload());
    Ok(())
}

fn tcp_alike(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (ours, theirs) = (TcpView::new(bytes), TcpSlice::from_slice(bytes));
    prop_assert_eq!(ours.is_ok(), theirs.is_ok());
    let (Ok(ours), Ok(theirs)) = (ours, theirs) else {
        return Ok(());
    };
    prop_assert_eq!(ours.source_port(), theirs.source_port());
    prop_assert_eq!(ours.destination_port(), theirs.destination_port());
    prop_assert_eq!(ours.sequence(), theirs.sequence_number());
    prop_assert_eq!(ours.acknowledgement(), theirs.acknowledgment_number());
    prop_assert_eq!(ours.window(), theirs.window_size());
    prop_assert_eq!(ours.checksum(), theirs.checksum());
    prop_assert_eq!(ours.urgent(), theirs.urgent_pointer());
    prop_assert_eq!(ours.option_bytes(), theirs.options());
    prop_assert_eq!(ours.payload(), theirs.payload());
    let flags = [
        theirs.fin(),
        theirs.syn(),
        theirs.rst(),
        theirs.psh(),
        theirs.ack(),
    ];
    let mine = [0, 1, 2, 3, 4].map(|bit| ours.flags() >> bit & 1 == 1);
    prop_assert_eq!(mine, flags);
    // Options that both understand, up to the first that makes no sense to them.
    let known = theirs.options_iterator().take_while(Result::is_ok).count();
    prop_assert!(
        ours.options().count() >= known.min(1) || known == 0 || ours.option_bytes()[0] < 2
    );
    Ok(())
}
