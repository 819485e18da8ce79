use super::*;
use crate::ethernet::{Ethernet, Mac};
use crate::gre::Gre;
use crate::ipv4::{Ipv4, protocol};
use crate::ipv6::{Extension, Ipv6};
use crate::mpls::Label;
use crate::tcp::Tcp;
use crate::udp::Udp;
use crate::vlan::Tag;
use crate::vxlan::{self, Vxlan};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use std::format;
use std::string::ToString;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SIX: Ipv6Addr = Ipv6Addr::LOCALHOST;

fn frame(tags: &[Tag], kind: u16, payload: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (destination, source) = (Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, 1]));
    let mut frame = Vec::new();
    Ethernet {
        destination,
        source,
        tags,
        ethertype: kind,
    }
    .build(&mut frame, payload);
    frame
}

fn udp(to: u16, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
    let ip = Ipv4::new(A, B, protocol::UDP);
    let header = Udp {
        source_port: 4000,
        destination_port: to,
    };
    ip.build(out, |out| header.build(ip.pseudo(), out, payload));
}

fn told(frame: &[u8]) -> std::string::String {
    Description(frame).to_string()
}

#[test]
fn addresses_and_ports_are_told_of_lengths_that_make_no_sense() {
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        sequence: 7,
        acknowledgement: 0,
        flags: flag::SYN,
        window: 100,
        urgent: 0,
        options: &[],
    };
    let whole = frame(&[], ethertype::IPV4, |out| {
        let ip = Ipv4::new(A, B, protocol::TCP);
        ip.build(out, |out| {
            tcp.build(ip.pseudo(), out, |out| out.extend([0; 4]))
        });
    });
    let with = |at: usize, value: u8| {
        let mut frame = whole.clone();
        frame[at] = value;
        told(&frame)
    };
    let syn = "10.0.0.1:80 > 10.0.0.2:4000 TCP S seq 7 win 100";
    assert_eq!(with(17, 0), format!("{syn}, 4 bytes"));
    assert_eq!(
        with(46, 0x70),
        format!("{syn}, 0 bytes [TCP options cut off]")
    );
    assert_eq!(
        with(46, 0x30),
        format!("{syn}, 4 bytes [TCP header length below 20]")
    );
    assert_eq!(
        with(17, 10),
        "10.0.0.1 > 10.0.0.2 [IPv4 total length below the header's]"
    );
    assert_eq!(
        told(&whole[..44]),
        "10.0.0.1:80 > 10.0.0.2:4000 [TCP header cut off] [IPv4 packet cut off]"
    );
    let mut datagram = frame(&[], ethertype::IPV4, |out| {
        udp(53, out, |out| out.extend([0; 12]))
    });
    datagram[39] = 3;
    assert_eq!(
        told(&datagram),
        "10.0.0.1:4000 > 10.0.0.2:53 UDP, 0 bytes [UDP length below 8]"
    );
}

#[test]
fn plain_traffic_reads_well() {
    let plain = frame(&[], ethertype::IPV4, |out| {
        udp(53, out, |out| out.extend([0; 12]))
    });
    assert_eq!(told(&plain), "10.0.0.1:4000 > 10.0.0.2:53 UDP, 12 bytes");
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        sequence: 1,
        acknowledgement: 2,
        flags: flag::SYN | flag::ACK,
        window: 100,
        urgent: 0,
        options: &[],
    };
    let ip = Ipv6::new(SIX, SIX, protocol::TCP);
    let segment = frame(&[], ethertype::IPV6, |out| {
        ip.build(out, |out| tcp.build(ip.pseudo(), out, |_| ()));
    });
    assert_eq!(
        told(&segment),
        "[::1]:80 > [::1]:4000 TCP S. seq 1 ack 2 win 100, 0 bytes"
    );
    let ping = frame(&[], ethertype::IPV4, |out| {
        let echo = Icmp::EchoRequest {
            identification: 7,
            sequence: 1,
        };
        Ipv4::new(A, B, protocol::ICMP)
            .build(out, |out| echo.build(out, |out| out.extend([0; 56])));
    });
    assert_eq!(
        told(&ping),
        "10.0.0.1 > 10.0.0.2 ICMP echo request id 7 seq 1, 56 bytes"
    );
    let who = Icmpv6::NeighbourSolicitation { target: SIX };
    let ip = Ipv6::new(SIX, SIX, protocol::ICMPV6);
    let neighbour = frame(&[], ethertype::IPV6, |out| {
        ip.build(out, |out| who.build(ip.pseudo(), out, |_| ()));
    });
    assert_eq!(told(&neighbour), "::1 > ::1 ICMPv6 who has ::1, 0 bytes");
    let mut arp = Vec::new();
    Arp::request(Mac([2, 0, 0, 0, 0, 1]), A, B).build_frame(&mut arp);
    assert_eq!(
        told(&arp),
        "02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1"
    );
    assert_eq!(
        Payload(&arp).to_string(),
        "ARP who has 10.0.0.2 tell 10.0.0.1"
    );
}

#[test]
fn sessions_of_pppoe_geneve_and_reverse_arp_are_described() {
    let pppoe = |kind, header: &[u8], payload: &dyn Fn(&mut Vec<u8>)| {
        frame(&[], kind, |out| {
            out.extend_from_slice(header);
            payload(out);
        })
    };
    let macs = "02:00:00:00:00:01 > 02:00:00:00:00:02 ";
    let session = pppoe(
        ethertype::PPPOE_SESSION,
        &[0x11, 0, 0, 7, 0, 30, 0, 0x21],
        &|out| udp(53, out, |_| ()),
    );
    assert_eq!(
        told(&session),
        format!("{macs}PPPoE session 7 10.0.0.1:4000 > 10.0.0.2:53 UDP, 0 bytes")
    );
    let control = pppoe(
        ethertype::PPPOE_SESSION,
        &[0x11, 0, 0, 7, 0, 6, 0xC0, 0x21, 1, 1, 0, 4],
        &|_| (),
    );
    assert_eq!(
        told(&control),
        format!("{macs}PPPoE session 7 PPP C021, 4 bytes")
    );
    let discovery = pppoe(
        ethertype::PPPOE_DISCOVERY,
        &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0],
        &|_| (),
    );
    assert_eq!(told(&discovery), format!("{macs}PPPoE PADI, 4 bytes"));
    let inner = frame(&[], ethertype::IPV4, |out| udp(53, out, |_| ()));
    let geneve = frame(&[], ethertype::IPV4, |out| {
        udp(6081, out, |out| {
            out.extend([1, 0, 0x65, 0x58, 0, 0, 9, 0, 1, 2, 3, 0]);
            out.extend_from_slice(&inner);
        });
    });
    assert_eq!(
        told(&geneve),
        "10.0.0.1:4000 > 10.0.0.2:6081 Geneve 9 10.0.0.1:4000 > 10.0.0.2:53 UDP, 0 bytes"
    );
    for (operation, text) in [
        (3, "RARP who is 00:00:00:00:00:00 tell 02:00:00:00:00:01"),
        (4, "RARP 00:00:00:00:00:00 is 10.0.0.2"),
    ] {
        let mut arp = Arp::request(Mac([2, 0, 0, 0, 0, 1]), A, B);
        arp.operation = Operation::Other(operation);
        let reverse = frame(&[], ethertype::RARP, |out| arp.build(out));
        assert_eq!(told(&reverse), format!("{macs}{text}"));
    }
}

#[test]
fn tags_labels_and_tunnels_stand_in_front() {
    let inner = frame(&[Tag::new(5)], ethertype::IPV4, |out| udp(53, out, |_| ()));
    let outer = frame(&[Tag::new(7), Tag::new(8)], ethertype::IPV4, |out| {
        udp(vxlan::PORT, out, |out| {
            Vxlan { network: 9 }.build(out, |out| out.extend(&inner))
        });
    });
    assert_eq!(
        told(&outer),
        "vlan 7 vlan 8 10.0.0.1:4000 > 10.0.0.2:4789 VXLAN 9 vlan 5 10.0.0.1:4000 > 10.0.0.2:53 UDP, 0 bytes"
    );
    let gre = Gre {
        protocol: ethertype::IPV4,
        checksum: true,
        key: Some(3),
        sequence: None,
    };
    let tunnel = frame(&[], ethertype::IPV4, |out| {
        let ip = Ipv4::new(A, B, protocol::GRE);
        ip.build(out, |out| gre.build(out, |out| udp(53, out, |_| ())));
    });
    assert!(told(&tunnel).starts_with("10.0.0.1 > 10.0.0.2 GRE key 3 10.0.0.1:4000 > "));
    let labelled = frame(&[], ethertype::MPLS, |out| {
        let label = |label| Label {
            label,
            class: 0,
            ttl: 64,
        };
        crate::mpls::build(&[label(100), label(200)], out);
        udp(53, out, |_| ());
    });
    assert!(told(&labelled).contains("MPLS 100 MPLS 200 10.0.0.1:4000 > "));
}

#[test]
fn fragments_and_what_is_cut_off_are_told() {
    let part = |more, offset| {
        let ip = Ipv4::new(A, B, protocol::UDP);
        let ip = Ipv4 {
            more_fragments: more,
            fragment_offset: offset,
            ..ip
        };
        frame(&[], ethertype::IPV4, |out| {
            ip.build(out, |out| out.extend([0, 1, 0, 2, 0, 99, 0, 0]))
        })
    };
    assert_eq!(
        told(&part(true, 0)),
        "10.0.0.1:1 > 10.0.0.2:2 UDP, 91 bytes, first fragment"
    );
    assert_eq!(
        told(&part(false, 8)),
        "10.0.0.1 > 10.0.0.2 protocol 17, 8 bytes, fragment at 8"
    );
    let extensions = [Extension {
        kind: protocol::FRAGMENT,
        bytes: &[0, 0, 0, 16, 0, 0, 0, 1],
    }];
    let ip = Ipv6 {
        extensions: &extensions,
        ..Ipv6::new(SIX, SIX, protocol::UDP)
    };
    let six = frame(&[], ethertype::IPV6, |out| {
        ip.build(out, |out| out.extend([0; 8]))
    });
    assert_eq!(told(&six), "::1 > ::1 protocol 17, 8 bytes, fragment at 16");

    let whole = frame(&[], ethertype::IPV4, |out| {
        udp(53, out, |out| out.extend([0; 12]))
    });
    assert_eq!(
        told(&whole[..44]),
        "10.0.0.1:4000 > 10.0.0.2:53 UDP, 12 bytes [IPv4 packet cut off]"
    );
    assert_eq!(told(&whole[..13]), "[Ethernet header cut off]");
    for len in 0..whole.len() {
        assert!(told(&whole[..len]).contains("cut off"), "{len}");
    }
}

#[test]
fn a_frame_inside_itself_forever_ends() {
    let gre = Gre {
        protocol: ethertype::BRIDGED,
        checksum: false,
        key: None,
        sequence: None,
    };
    let mut nested = frame(&[], ethertype::ARP, |_| ());
    for _ in 0..50 {
        nested = frame(&[], ethertype::IPV4, |out| {
            let ip = Ipv4::new(A, B, protocol::GRE);
            ip.build(out, |out| gre.build(out, |out| out.extend(&nested)));
        });
    }
    assert!(told(&nested).ends_with("..."));
    let tags = frame(&[Tag::new(1); 1000], ethertype::ARP, |_| ());
    assert!(told(&tags).len() < 200);
}
