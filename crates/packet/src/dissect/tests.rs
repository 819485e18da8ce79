use super::*;
use crate::ethernet::{Ethernet, Mac};
use crate::ipv4::Ipv4;
use crate::tcp::{Tcp, TcpOption, flag};
use crate::udp::Udp;
use crate::vlan::Tag;
use std::collections::BTreeSet;

fn ethernet(payload: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (destination, source) = (Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, 1]));
    let tags = &[Tag::new(5)];
    let mut frame = Vec::new();
    Ethernet {
        destination,
        source,
        tags,
        ethertype: crate::ethernet::ethertype::IPV4,
    }
    .build(&mut frame, payload);
    frame
}

fn syn() -> Vec<u8> {
    let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6);
    let tcp = Tcp {
        source_port: 4000,
        destination_port: 80,
        sequence: 7,
        acknowledgement: 0,
        flags: flag::SYN | flag::ECE,
        window: 64240,
        urgent: 0,
        options: &[
            TcpOption::MaximumSegment(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps(9, 8),
            TcpOption::WindowScale(7),
        ],
    };
    ethernet(|out| ip.build(out, |out| tcp.build(ip.pseudo(), out, |_| {})))
}

fn values(names: &[&str], frame: &[u8]) -> Vec<String> {
    let fields = names.iter().map(|name| field(name).expect("it is known"));
    let mut dissection = Dissection::new(fields);
    // What came before leaves nothing behind.
    dissection.read(&syn(), None);
    dissection.read(frame, None);
    (0..names.len())
        .map(|at| dissection.value(at).into())
        .collect()
}

#[test]
fn a_syn_tells_its_flags_and_options() {
    let names = [
        "vlan.id",
        "ip.ttl",
        "ttl",
        "tcp.flags",
        "flags",
        "tcp.flags.syn",
        "tcp.flags.ack",
        "tcp.seq",
        "mss",
        "wscale",
        "sack",
        "tsval",
        "tsecr",
        "window",
        "tcp.len",
        "udp.srcport",
        "dns.id",
    ];
    assert_eq!(
        values(&names, &syn()),
        [
            "5", "64", "64", "0x0042", "SE", "1", "0", "7", "1460", "7", "1", "9", "8", "64240",
            "0", "", ""
        ]
    );
}

#[test]
fn a_datagram_is_looked_into_by_its_port_and_a_segment_by_its_content() {
    let ip = |protocol| Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol);
    let udp = |port| {
        let udp = Udp {
            source_port: 4000,
            destination_port: port,
        };
        ethernet(|out| {
            let ip = ip(17);
            ip.build(out, |out| {
                udp.build(ip.pseudo(), out, |out| {
                    dns::query(1, "a.test", 28, out).unwrap()
                });
            });
        })
    };
    let names = ["dns.qname", "dns.qtype", "dns.qr", "dns.rcode"];
    assert_eq!(values(&names, &udp(53)), ["a.test", "28", "0", ""]);
    assert_eq!(values(&names, &udp(54)), [""; 4]);
    let tcp = Tcp {
        source_port: 1,
        destination_port: 2,
        sequence: 0,
        acknowledgement: 0,
        flags: 0,
        window: 0,
        urgent: 0,
        options: &[],
    };
    let text = b"GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let frame = ethernet(|out| {
        let ip = ip(6);
        ip.build(out, |out| {
            tcp.build(ip.pseudo(), out, |out| out.extend(text))
        });
    });
    let names = ["http.method", "http.path", "http.host", "flags", "tls.sni"];
    assert_eq!(values(&names, &frame), ["GET", "/x", "a.test", "none", ""]);
}

#[test]
fn no_name_is_that_of_two_fields() {
    let names: Vec<_> = fields()
        .flat_map(|field| [&[field.name], field.also].concat())
        .collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(field("dns").is_none());
}

#[test]
fn segments_without_a_length_and_segments_cut_short_have_all_their_fields() {
    use crate::craft::{Defaults, Template};
    let frame = |text: &str| {
        let mut frame = Vec::new();
        let template = Template::parse(text).unwrap();
        template.build(0, &Defaults::default(), &mut frame).unwrap();
        frame
    };
    let names = ["tcp.dstport", "tcp.len"];
    // Behind the Ethernet header: the total length, the payload length.
    for (text, at) in [
        ("ip/tcp(dport=80)/\"abcd\"", 16),
        ("ipv6/tcp(dport=80)/\"abcd\"", 18),
    ] {
        let mut frame = frame(text);
        assert_eq!(values(&names, &frame), ["80", "4"], "{text}");
        assert_eq!(
            values(&names, &frame[..frame.len() - 3]),
            ["80", "4"],
            "{text}"
        );
        frame[at..at + 2].fill(0);
        assert_eq!(values(&names, &frame), ["80", "4"], "{text}");
        assert_eq!(
            values(&names, &frame[..frame.len() - 3]),
            ["80", "1"],
            "{text}"
        );
    }
    // UDP is left to network cards in this way too, and the length shown is that which it has.
    let mut datagram = frame("ip/udp(dport=80)/\"abcd\"");
    datagram[16..18].fill(0);
    let names = ["ip.proto", "ip.len", "udp.dstport"];
    assert_eq!(values(&names, &datagram), ["17", "32", "80"]);
}

#[test]
fn texts_are_ascii_up_to_a_zero_byte_and_names_have_no_escapes() {
    let http = |text: &[u8]| {
        let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6);
        let tcp = Tcp {
            source_port: 4000,
            destination_port: 80,
            sequence: 7,
            acknowledgement: 1,
            flags: flag::ACK,
            window: 1,
            urgent: 0,
            options: &[],
        };
        let request = [b"GET / HTTP/1.1\r\nHost: ", text, b"\r\n"].concat();
        ethernet(|out| {
            ip.build(out, |out| {
                tcp.build(ip.pseudo(), out, |out| out.extend(request))
            })
        })
    };
    for (text, shown) in [
        (&b"a b,c"[..], "a b,c"),
        (b"caf\xC3\xA9", "caf\u{FFFD}\u{FFFD}"),
        (b"zero\0behind", "zero"),
        (b"back\\slash", "back\\slash"),
    ] {
        assert_eq!(values(&["http.host"], &http(text)), [shown]);
    }
    let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 17);
    let udp = Udp {
        source_port: 4000,
        destination_port: 53,
    };
    let question = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x04a b\\\x02\xC3\xA9\0\0\x01\0\x01";
    let query = ethernet(|out| {
        ip.build(out, |out| {
            udp.build(ip.pseudo(), out, |out| out.extend(question))
        })
    });
    assert_eq!(values(&["dns.qry.name"], &query), ["a b\\.é"]);
}
