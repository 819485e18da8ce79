use super::*;
use crate::describe::Description;
use crate::layers::{Header, layers};
use alloc::string::ToString;
use proptest::prelude::*;

fn frame(text: &str, number: u128) -> Vec<u8> {
    let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut frame = Vec::new();
    template
        .build(number, &Defaults::default(), &mut frame)
        .unwrap();
    frame
}

fn told(text: &str) -> String {
    Description(&frame(text, 0)).to_string()
}

#[test]
fn every_layer_is_what_it_says() {
    for (text, expected) in [
        (
            "arp(pdst=10.0.0.9)",
            "02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.9 tell 10.0.0.1",
        ),
        (
            "ip/icmp(id=7,seq=3)/\"hello\"",
            "10.0.0.1 > 10.0.0.2 ICMP echo request id 7 seq 3, 5 bytes",
        ),
        (
            "vlan(id=5)/ip(dst=10.0.0.3)/tcp(dport=22,flags=SA,seq=1,ack=2)",
            "vlan 5 10.0.0.1:49152 > 10.0.0.3:22 TCP S. seq 1 ack 2 win 8192, 0 bytes",
        ),
        (
            "ipv6(dst=fd00::9)/udp(dport=9)/x\"00 01:02\"",
            "[fd00::1]:49152 > [fd00::9]:9 UDP, 3 bytes",
        ),
        (
            "ipv6/icmpv6(type=neighbour-solicitation,target=fd00::9)",
            "fd00::1 > fd00::2 ICMPv6 who has fd00::9, 0 bytes",
        ),
        (
            "ip/udp/vxlan(vni=7)/eth/ip/udp/\"x\"",
            "10.0.0.1:49152 > 10.0.0.2:4789 VXLAN 7 10.0.0.1:49152 > 10.0.0.2:9 UDP, 1 bytes",
        ),
        (
            "ip/gre(key=5)/ip/icmp",
            "10.0.0.1 > 10.0.0.2 GRE key 5 10.0.0.1 > 10.0.0.2 ICMP echo request id 0 seq 0, 0 bytes",
        ),
        (
            "mpls(label=100)/mpls(label=200)/ip/udp",
            "MPLS 100 MPLS 200 10.0.0.1:49152 > 10.0.0.2:9 UDP, 0 bytes",
        ),
    ] {
        let told = told(text);
        assert!(told.ends_with(expected), "{text}: {told}");
    }
}

#[test]
fn lengths_and_checksums_are_filled_in_unless_they_are_stated() {
    for text in [
        "ip/tcp(mss=1460,wscale=7,sackok=1,ts=1:2)/\"odd\"",
        "ipv6/tcp",
        "ip/udp/dns(name=a.test)",
        "ip/icmp",
        "ipv6/icmpv6/\"a\"",
    ] {
        let frame = frame(text, 0);
        let mut pseudo = None;
        for layer in layers(&frame) {
            let good = match layer.header {
                Header::Ipv4(ip) => {
                    pseudo = Some(ip.pseudo());
                    ip.is_checksum_valid() && usize::from(ip.total_length()) == frame.len() - 14
                }
                Header::Ipv6(ip) => {
                    pseudo = Some(ip.pseudo(ip.next_header()));
                    usize::from(ip.payload_length()) == frame.len() - 54
                }
                Header::Tcp(tcp) => tcp.is_checksum_valid(pseudo.unwrap()),
                Header::Udp(udp) => udp.checksum() != 0 && udp.is_checksum_valid(pseudo.unwrap()),
                Header::Icmp(icmp) => icmp.is_checksum_valid(),
                Header::Icmpv6(icmp) => icmp.is_checksum_valid(pseudo.unwrap()),
                _ => true,
            };
            assert!(good, "{text}: {:?}", layer.header);
        }
    }
    let stated = frame("ip(len=7,chksum=0x1234)/udp(len=9,chksum=1)", 0);
    assert_eq!(
        (&stated[16..18], &stated[24..26], &stated[38..42]),
        (&[0, 7][..], &[0x12, 0x34][..], &[0, 9, 0, 1][..])
    );
}

#[test]
fn ranges_and_lists_give_every_combination_the_last_fastest() {
    let text = "ip(ttl=[1,5-6],dst=10.0.0.0/31)/udp(dport=1-2)";
    assert_eq!(Template::parse(text).unwrap().count(), 12);
    let all: Vec<_> = (0..13)
        .map(|number| {
            let frame = frame(text, number);
            (frame[22], frame[33], frame[37])
        })
        .collect();
    assert_eq!(
        all[..5],
        [(1, 0, 1), (1, 0, 2), (1, 1, 1), (1, 1, 2), (5, 0, 1)]
    );
    assert_eq!((all[11], all[12]), ((6, 1, 2), all[0]));
    let many = Template::parse("ipv6(src=::/0,dst=::/0)").unwrap();
    assert_eq!(many.count(), u128::MAX);
}

#[test]
fn a_mistake_is_told_with_its_place() {
    for (text, place, message) in [
        ("", "", "a layer is one of"),
        ("ipx", "ipx", "a layer is one of"),
        ("ip(ttl=300)", "300", "0 to 255"),
        ("ip(tttl=3)", "tttl", "it has src dst ttl"),
        ("ip(ttl=3", "", "comma"),
        ("ip(ttl=3,ttl=4)", "ttl=4", "twice"),
        ("ip(ttl)", ")", "value"),
        ("ip(ttl=)", ")", "value"),
        ("ip(ttl=9-1)", "9-1", "lowest"),
        ("ip(dst=10.0.0.1/33)", "10.0.0.1/33", "prefix"),
        ("ip(dst=10.0.0.9-10.0.0.1)", "10.0.0.9-10.0.0.1", "range"),
        ("ip/tcp(flags=SX)", "SX", "letters"),
        ("ip/tcp(dport=[1,2)", ")", "]"),
        ("eth/tcp", "tcp", "does not stand in eth"),
        ("udp", "udp", "begins with eth"),
        ("ip/\"abc", "\"abc", "no end"),
        ("ip/\"\\q\"", "\\q", "backslash"),
        ("ip/x\"0g\"", "0g", "hexadecimal"),
        ("ip tcp", "t", "/"),
        ("eth(dst=1)", "1", "MAC address"),
    ] {
        let error = Template::parse(text).unwrap_err();
        assert_eq!(&text[error.at.clone()], place, "{text}: {error:?}");
        assert!(error.message.contains(message), "{text}: {error}");
    }
    let long = alloc::format!("ip/\"{}\"", "a".repeat(66_000));
    let error = Template::parse(&long)
        .unwrap()
        .build(0, &Defaults::default(), &mut Vec::new());
    assert!(error.unwrap_err().message.contains("65535"));
    let name = Template::parse("ip/udp/dns(name=a..b)").unwrap();
    assert!(
        name.build(0, &Defaults::default(), &mut Vec::new())
            .is_err()
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(eth|ip|tcp|udp|dns|arp|/|\\(|\\)|=|,|[|]|-|\"|x|dst|ttl|[0-9a-f.:]|é| ){0,24}", number: u128) {
        if let Ok(template) = Template::parse(&text) {
            let _ = template.build(number, &Defaults::default(), &mut Vec::new());
        }
    }
}
