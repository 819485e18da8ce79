//! The fields of headers up to TCP and UDP.

use super::Layer::{BadTcp, Frame, Length, Of, Ports, Segment};
use super::{Field, Values};
use crate::arp::Operation;
use crate::ethernet::ethertype;
use crate::icmp::Icmp;
use crate::icmpv6::Icmpv6;
use crate::ipv4::protocol;
use crate::layers::{Header, Next};
use crate::tcp::{TcpOption, TcpView, flag};
use core::fmt::LowerHex;

pub const FIELDS: &[Field] = &[
    field!("frame.len", [], "Bytes of the frame before the capture cut it short, as far as that is known", |out| Frame(_, length) => out.put(length)),
    field!("frame.cap_len", ["length"], "Bytes of the frame that are there", |out| Frame(frame, _) => out.put(frame.len())),
    field!("eth.dst", [], "Destination MAC address, with colons", |out| Of(Header::Ethernet(eth), _) => out.put(eth.destination())),
    field!("eth.src", [], "Source MAC address, with colons", |out| Of(Header::Ethernet(eth), _) => out.put(eth.source())),
    field!("eth.type", [], "EtherType, outside of tags", |out| Of(Header::Ethernet(eth), _) if eth.ethertype() >= ethertype::LOWEST => hex16(out, eth.ethertype())),
    field!("vlan.id", [], "VLAN identifiers, the outermost first", |out| Of(Header::Tag(tag), _) => out.put(tag.id)),
    field!("vlan.priority", ["vlan.pcp"], "Priority of a VLAN tag, 0 to 7", |out| Of(Header::Tag(tag), _) => out.put(tag.priority)),
    field!("vlan.dei", [], "Whether the frame may be dropped before others", |out| Of(Header::Tag(tag), _) => out.flag(tag.drop_eligible)),
    field!("vlan.etype", [], "EtherType behind a VLAN tag", |out| Of(Header::Tag(_), Next::Ethertype(behind)) => hex16(out, behind)),
    field!("mpls.label", [], "MPLS labels, from the top", |out| Of(Header::Label(label), _) => out.put(label.label)),
    field!("mpls.exp", ["mpls.tc"], "MPLS traffic class", |out| Of(Header::Label(label), _) => out.put(label.class)),
    field!("mpls.bottom", [], "Whether the MPLS label is the last", |out| Of(Header::Label(_), next) => out.flag(*next != Next::Label)),
    field!("mpls.ttl", [], "MPLS time to live", |out| Of(Header::Label(label), _) => out.put(label.ttl)),
    field!("pppoe.code", [], "PPPoE code: 0x00 for a session, others for discovery", |out| Of(Header::Pppoe(pppoe), _) => hex8(out, pppoe.code())),
    field!("pppoe.session_id", ["pppoe.session"], "PPPoE session", |out| Of(Header::Pppoe(pppoe), _) => hex16(out, pppoe.session())),
    field!("pppoe.payload_length", [], "PPPoE payload length as it stands", |out| Of(Header::Pppoe(pppoe), _) => out.put(pppoe.length())),
    field!("ppp.protocol", [], "PPP protocol of what a PPPoE session carries", |out| Of(Header::Pppoe(pppoe), _) => if let Ok(Some((protocol, _))) = pppoe.packet() { hex16(out, protocol); }),
    field!("arp.opcode", ["arp.op"], "ARP operation: 1 asks, 2 answers; 3 and 4 the same of reverse ARP", |out| Of(Header::Arp(arp), _) => out.put(match arp.operation {
        Operation::Request => 1,
        Operation::Reply => 2,
        Operation::Other(number) => number,
    })),
    field!("arp.src.hw_mac", ["arp.sha"], "ARP: the sender's MAC address", |out| Of(Header::Arp(arp), _) => out.put(arp.sender_mac)),
    field!("arp.src.proto_ipv4", ["arp.spa"], "ARP: the sender's IP address", |out| Of(Header::Arp(arp), _) => out.put(arp.sender)),
    field!("arp.dst.hw_mac", ["arp.tha"], "ARP: the target's MAC address", |out| Of(Header::Arp(arp), _) => out.put(arp.target_mac)),
    field!("arp.dst.proto_ipv4", ["arp.tpa"], "ARP: the target's IP address", |out| Of(Header::Arp(arp), _) => out.put(arp.target)),
    field!("ttl", [], "Time to live of IPv4, hop limit of IPv6", |out|
        Of(Header::Ipv4(ip), _) => out.put(ip.hop_limit()), Of(Header::Ipv6(ip), _) => out.put(ip.hop_limit())),
    field!("dscp", [], "Differentiated services code point of IPv4 or IPv6", |out|
        Of(Header::Ipv4(ip), _) => out.put(ip.traffic_class() >> 2), Of(Header::Ipv6(ip), _) => out.put(ip.traffic_class() >> 2)),
    field!("ecn", [], "Explicit congestion notification of IPv4 or IPv6: 3 is congestion", |out|
        Of(Header::Ipv4(ip), _) => out.put(ip.traffic_class() & 3), Of(Header::Ipv6(ip), _) => out.put(ip.traffic_class() & 3)),
    field!("ip.dsfield.dscp", ["ip.dscp"], "IPv4 differentiated services code point", |out| Of(Header::Ipv4(ip), _) => out.put(ip.traffic_class() >> 2)),
    field!("ip.dsfield.ecn", ["ip.ecn"], "IPv4 explicit congestion notification", |out| Of(Header::Ipv4(ip), _) => out.put(ip.traffic_class() & 3)),
    field!("ip.len", [], "IPv4 total length; of a packet that says 0, as one before segmentation offload does, the length it has", |out| Length(length) => out.put(length)),
    field!("ip.id", [], "IPv4 identification", |out| Of(Header::Ipv4(ip), _) => hex16(out, ip.identification())),
    field!("ip.flags.df", [], "IPv4: do not fragment", |out| Of(Header::Ipv4(ip), _) => out.flag(ip.dont_fragment())),
    field!("ip.flags.mf", [], "IPv4: more fragments follow", |out| Of(Header::Ipv4(ip), _) => out.flag(ip.more_fragments())),
    field!("ip.frag_offset", [], "IPv4 fragment offset, in eights of bytes", |out| Of(Header::Ipv4(ip), _) => out.put(ip.fragment_offset() / 8)),
    field!("ip.ttl", [], "IPv4 time to live", |out| Of(Header::Ipv4(ip), _) => out.put(ip.hop_limit())),
    field!("ip.proto", [], "IPv4 protocol number", |out| Of(Header::Ipv4(ip), _) => out.put(ip.protocol())),
    field!("ip.checksum", [], "IPv4 header checksum", |out| Of(Header::Ipv4(ip), _) => hex16(out, ip.checksum())),
    field!("ipv6.tclass.dscp", ["ipv6.dscp"], "IPv6 differentiated services code point", |out| Of(Header::Ipv6(ip), _) => out.put(ip.traffic_class() >> 2)),
    field!("ipv6.tclass.ecn", ["ipv6.ecn"], "IPv6 explicit congestion notification", |out| Of(Header::Ipv6(ip), _) => out.put(ip.traffic_class() & 3)),
    field!("ipv6.flow", [], "IPv6 flow label", |out| Of(Header::Ipv6(ip), _) => out.put(format_args!("0x{:06x}", ip.flow_label()))),
    field!("ipv6.plen", [], "IPv6 payload length", |out| Of(Header::Ipv6(ip), _) => out.put(ip.payload_length())),
    field!("ipv6.nxt", [], "IPv6 next header", |out| Of(Header::Ipv6(ip), _) => out.put(ip.next_header())),
    field!("ipv6.hlim", [], "IPv6 hop limit", |out| Of(Header::Ipv6(ip), _) => out.put(ip.hop_limit())),
    field!("ipv6.src", [], "IPv6 source address", |out| Of(Header::Ipv6(ip), _) => out.put(ip.source())),
    field!("ipv6.dst", [], "IPv6 destination address", |out| Of(Header::Ipv6(ip), _) => out.put(ip.destination())),
    field!("ipv6.fraghdr.offset", [], "IPv6 fragment offset, in eights of bytes", |out| Of(Header::Extension(extension), _) => if let Some(fragment) = extension.fragment() { out.put(fragment.offset / 8); }),
    field!("ipv6.fraghdr.more", [], "IPv6: more fragments follow", |out| Of(Header::Extension(extension), _) => if let Some(fragment) = extension.fragment() { out.flag(fragment.more); }),
    field!("ipv6.fraghdr.ident", [], "IPv6 fragment identification", |out| Of(Header::Extension(extension), _) => if let Some(fragment) = extension.fragment() { hex32(out, fragment.identification); }),
    field!("icmp.type", [], "ICMP type: 8 echo request, 0 reply, 3 unreachable, 11 time exceeded", |out| Of(Header::Icmp(icmp), _) => out.put(icmp.kind())),
    field!("icmp.code", [], "ICMP code", |out| Of(Header::Icmp(icmp), _) => out.put(icmp.code())),
    field!("icmp.checksum", [], "ICMP checksum", |out| Of(Header::Icmp(icmp), _) => hex16(out, icmp.checksum())),
    field!("icmp.ident", ["icmp.id"], "ICMP echo: identifier", |out| Of(Header::Icmp(icmp), _) => if let Icmp::EchoRequest { identification, .. } | Icmp::EchoReply { identification, .. } = icmp.message() {
        out.put(identification);
    }),
    field!("icmp.seq", [], "ICMP echo: sequence number", |out| Of(Header::Icmp(icmp), _) => if let Icmp::EchoRequest { sequence, .. } | Icmp::EchoReply { sequence, .. } = icmp.message() {
        out.put(sequence);
    }),
    field!("icmp.mtu", [], "ICMP: the MTU that a packet was too long for", |out| Of(Header::Icmp(icmp), _) => if let Icmp::Unreachable { code: 4, mtu } = icmp.message() { out.put(mtu); }),
    field!("icmp.redir_gw", [], "ICMP redirect: the better router", |out| Of(Header::Icmp(icmp), _) => if let Icmp::Redirect { gateway, .. } = icmp.message() { out.put(gateway); }),
    field!("icmpv6.type", [], "ICMPv6 type: 128 echo request, 129 reply, 135 and 136 neighbour discovery", |out| Of(Header::Icmpv6(icmp), _) => out.put(icmp.kind())),
    field!("icmpv6.code", [], "ICMPv6 code", |out| Of(Header::Icmpv6(icmp), _) => out.put(icmp.code())),
    field!("icmpv6.checksum", [], "ICMPv6 checksum", |out| Of(Header::Icmpv6(icmp), _) => hex16(out, icmp.checksum())),
    field!("icmpv6.echo.identifier", ["icmpv6.id"], "ICMPv6 echo: identifier", |out| Of(Header::Icmpv6(icmp), _) => if let Icmpv6::EchoRequest { identification, .. } | Icmpv6::EchoReply { identification, .. } = icmp.message() {
        hex16(out, identification);
    }),
    field!("icmpv6.echo.sequence_number", ["icmpv6.seq"], "ICMPv6 echo: sequence number", |out| Of(Header::Icmpv6(icmp), _) => if let Icmpv6::EchoRequest { sequence, .. } | Icmpv6::EchoReply { sequence, .. } = icmp.message() {
        out.put(sequence);
    }),
    field!("icmpv6.mtu", [], "ICMPv6: the MTU that a packet was too long for", |out| Of(Header::Icmpv6(icmp), _) => if let Icmpv6::TooBig { mtu } = icmp.message() { out.put(mtu); }),
    field!("icmpv6.nd.ns.target_address", [], "Neighbour solicitation: the address looked for", |out| Of(Header::Icmpv6(icmp), _) => if let Icmpv6::NeighbourSolicitation { target } = icmp.message() { out.put(target); }),
    field!("icmpv6.nd.na.target_address", [], "Neighbour advertisement: the address found", |out| Of(Header::Icmpv6(icmp), _) => if let Icmpv6::NeighbourAdvertisement { target, .. } = icmp.message() { out.put(target); }),
    field!("gre.proto", [], "EtherType of what GRE carries", |out| Of(Header::Gre(gre), _) => hex16(out, gre.protocol())),
    field!("gre.key", [], "GRE key", |out| Of(Header::Gre(gre), _) => if let Some(key) = gre.key() { hex32(out, key); }),
    field!("geneve.vni", [], "Geneve network identifier", |out| Of(Header::Geneve(geneve), _) => out.put(format_args!("0x{:06x}", geneve.network()))),
    field!("geneve.proto_type", ["geneve.proto"], "EtherType of what Geneve carries", |out| Of(Header::Geneve(geneve), _) => hex16(out, geneve.protocol())),
    field!("vxlan.vni", [], "VXLAN network identifier", |out| Of(Header::Vxlan(vxlan), _) => out.put(vxlan.network())),
    field!("udp.srcport", [], "UDP source port", |out|
        Of(Header::Udp(udp), _) => out.put(udp.source_port()), Ports(protocol::UDP, source, _) => out.put(source)),
    field!("udp.dstport", [], "UDP destination port", |out|
        Of(Header::Udp(udp), _) => out.put(udp.destination_port()), Ports(protocol::UDP, _, destination) => out.put(destination)),
    field!("udp.length", [], "UDP length, header included", |out| Of(Header::Udp(udp), _) => out.put(udp.length())),
    field!("udp.checksum", [], "UDP checksum", |out| Of(Header::Udp(udp), _) if udp.length() >= 8 => hex16(out, udp.checksum())),
    field!("tcp.srcport", [], "TCP source port", |out|
        Of(Header::Tcp(tcp), _) | BadTcp(tcp) => out.put(tcp.source_port()), Ports(protocol::TCP, source, _) => out.put(source)),
    field!("tcp.dstport", [], "TCP destination port", |out|
        Of(Header::Tcp(tcp), _) | BadTcp(tcp) => out.put(tcp.destination_port()), Ports(protocol::TCP, _, destination) => out.put(destination)),
    field!("tcp.seq_raw", ["tcp.seq", "seq"], "TCP sequence number as it stands", |out| Of(Header::Tcp(tcp), _) | BadTcp(tcp) => out.put(tcp.sequence())),
    field!("tcp.ack_raw", ["tcp.ack", "ack"], "TCP acknowledgement number as it stands", |out| Of(Header::Tcp(tcp), _) => out.put(tcp.acknowledgement())),
    field!("tcp.len", [], "Bytes of TCP payload, also of a segment that is cut short", |out| Segment(length) => out.put(length)),
    field!("tcp.hdr_len", [], "TCP header length, options included", |out| Of(Header::Tcp(tcp), _) | BadTcp(tcp) => out.put(tcp.header_length())),
    field!("flags", [], "TCP flags in tcpdump's letters: S, S., P., F., R", |out| Of(Header::Tcp(tcp), _) => letters(out, tcp)),
    field!("tcp.flags", [], "TCP flags and the bits before them", |out| Of(Header::Tcp(tcp), _) => hex16(out, u16::from(tcp.reserved()) << 8 | u16::from(tcp.flags()))),
    field!("tcp.flags.syn", [], "TCP: the first segment", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::SYN)),
    field!("tcp.flags.ack", [], "TCP: the acknowledgement number counts", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::ACK)),
    field!("tcp.flags.fin", [], "TCP: no more data", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::FIN)),
    field!("tcp.flags.reset", ["tcp.flags.rst"], "TCP: the connection is broken off", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::RST)),
    field!("tcp.flags.push", ["tcp.flags.psh"], "TCP: to be handed on at once", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::PSH)),
    field!("tcp.flags.urg", [], "TCP: the urgent pointer counts", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::URG)),
    field!("tcp.flags.ece", [], "TCP: congestion was met", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::ECE)),
    field!("tcp.flags.cwr", [], "TCP: the congestion window was reduced", |out| Of(Header::Tcp(tcp), _) => flag(out, tcp, flag::CWR)),
    field!("tcp.window_size_value", ["tcp.window", "window"], "TCP window before scaling", |out| Of(Header::Tcp(tcp), _) => out.put(tcp.window())),
    field!("tcp.checksum", [], "TCP checksum", |out| Of(Header::Tcp(tcp), _) => hex16(out, tcp.checksum())),
    field!("tcp.urgent_pointer", [], "Where urgent data ends", |out| Of(Header::Tcp(tcp), _) => out.put(tcp.urgent())),
    field!("tcp.options.mss_val", ["tcp.mss", "mss"], "TCP option: the largest segment that is welcome", |out| Of(Header::Tcp(tcp), _) =>
        options(tcp, |option| if let TcpOption::MaximumSegment(size) = option { out.put(size); })),
    field!("tcp.options.wscale.shift", ["tcp.wscale", "wscale"], "TCP option: by how many bits windows are shifted", |out| Of(Header::Tcp(tcp), _) =>
        options(tcp, |option| if let TcpOption::WindowScale(shift) = option { out.put(shift); })),
    field!("tcp.sack_permitted", ["sack"], "TCP option: 1 where selective acknowledgements are welcome", |out| Of(Header::Tcp(tcp), _) =>
        options(tcp, |option| if let TcpOption::SackPermitted = option { out.put(1); })),
    field!("tcp.options.sack_le", [], "TCP option: where acknowledged blocks begin", |out| Of(Header::Tcp(tcp), _) => blocks(out, tcp, 0)),
    field!("tcp.options.sack_re", [], "TCP option: where acknowledged blocks end", |out| Of(Header::Tcp(tcp), _) => blocks(out, tcp, 4)),
    field!("tcp.options.timestamp.tsval", ["tcp.tsval", "tsval"], "TCP option: the sender's timestamp", |out| Of(Header::Tcp(tcp), _) =>
        options(tcp, |option| if let TcpOption::Timestamps(own, _) = option { out.put(own); })),
    field!("tcp.options.timestamp.tsecr", ["tcp.tsecr", "tsecr"], "TCP option: the timestamp that is echoed", |out| Of(Header::Tcp(tcp), _) =>
        options(tcp, |option| if let TcpOption::Timestamps(_, echo) = option { out.put(echo); })),
];

fn hex8(out: &mut Values<'_>, value: u8) {
    out.put(format_args!("0x{value:02x}"));
}

pub fn hex16(out: &mut Values<'_>, value: impl LowerHex) {
    out.put(format_args!("0x{value:04x}"));
}

pub fn hex32(out: &mut Values<'_>, value: u32) {
    out.put(format_args!("0x{value:08x}"));
}

fn flag(out: &mut Values<'_>, tcp: &TcpView<'_>, bit: u8) {
    out.flag(tcp.flags() & bit != 0);
}

fn letters(out: &mut Values<'_>, tcp: &TcpView<'_>) {
    match tcp.flags() {
        0 => out.put("none"),
        flags => out.put(flag::letters(flags)),
    }
}

fn options(tcp: &TcpView<'_>, see: impl FnMut(TcpOption<'_>)) {
    tcp.options().for_each(see);
}

/// One of the two numbers of each block.
fn blocks(out: &mut Values<'_>, tcp: &TcpView<'_>, at: usize) {
    options(tcp, |option| {
        if let TcpOption::Sack(blocks) = option {
            for block in blocks {
                out.put_if(
                    block[at..]
                        .first_chunk()
                        .map(|edge| u32::from_be_bytes(*edge)),
                );
            }
        }
    });
}
