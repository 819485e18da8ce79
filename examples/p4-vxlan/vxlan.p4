// A VXLAN gateway (RFC 7348): what comes from a local port goes, whole, into UDP, IP and Ethernet to the gateway behind which its
// destination is, and comes out there. Each local port belongs to a network with a number (VNI); networks don't see each other.
#include <core.p4>
#include <v1model.p4>

const bit<16> VXLAN = 4789;
const bit<16> AROUND = 20 + 8 + 8; // what IPv4, UDP and VXLAN add to the inner frame

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> source; bit<32> destination;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header vxlan_t { bit<8> flags; bit<24> reserved; bit<24> vni; bit<8> reserved2; }
header ports_t { bit<16> source; bit<16> destination; }

// What an IPv4 header's checksum covers.
#define COVERED(ip) { ip.version, ip.ihl, ip.tos, ip.length, ip.id, ip.flags, ip.fragment, ip.ttl, ip.protocol, ip.source, ip.destination }

struct headers {
    ethernet_t outer_ethernet; ipv4_t outer_ipv4; udp_t outer_udp; vxlan_t vxlan;
    ethernet_t ethernet; ipv4_t ipv4; ports_t ports;
}
struct meta {
    bit<24> vni;
    bit<48> mac; // our own in the underlay
    bit<32> ip;
}

parser Parse(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    // By the port and not by what is in the packet: a local packet to port 4789 is a packet like any other.
    value_set<bit<9>>(4) underlay;
    state start {
        transition select(s.ingress_port) { underlay: outer; default: inner; }
    }
    state outer {
        packet.extract(h.outer_ethernet);
        transition select(h.outer_ethernet.type) { 0x0800: outer_ipv4; default: accept; }
    }
    state outer_ipv4 {
        packet.extract(h.outer_ipv4);
        transition select(h.outer_ipv4.ihl, h.outer_ipv4.flags, h.outer_ipv4.fragment, h.outer_ipv4.protocol) { (5, 0 &&& 1, 0, 17): outer_udp; default: accept; }
    }
    state outer_udp {
        packet.extract(h.outer_udp);
        transition select(h.outer_udp.destination) { VXLAN: vxlan; default: accept; }
    }
    state vxlan { packet.extract(h.vxlan); transition inner; }
    state inner {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        transition select(h.ipv4.ihl, h.ipv4.flags, h.ipv4.fragment, h.ipv4.protocol) {
            (5, 0 &&& 1, 0, 6): ports;
            (5, 0 &&& 1, 0, 17): ports;
            default: accept;
        }
    }
    state ports { packet.extract(h.ports); transition accept; }
}

control Verify(inout headers h, inout meta m) {
    apply {
        verify_checksum(h.outer_ipv4.isValid(), COVERED(h.outer_ipv4), h.outer_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Gateway(inout headers h, inout meta m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }

    // Who this gateway is in the underlay.
    action address(bit<48> mac, bit<32> ip) { m.mac = mac; m.ip = ip; }
    table self { actions = { address; } default_action = address(0, 0); }

    // The network of a local port.
    action belong(bit<24> vni) { m.vni = vni; }
    table network {
        key = { s.ingress_port: exact; }
        actions = { belong; drop; }
        default_action = drop();
    }

    // Inner addresses behind other gateways.
    action encapsulate(bit<9> port, bit<48> next_hop, bit<32> gateway) {
        bit<16> flow;
        // The flow chooses the source port, so that the underlay can spread flows over its paths.
        hash(flow, HashAlgorithm.crc16, 16w49152,
            { h.ethernet.destination, h.ethernet.source, h.ipv4.source, h.ipv4.destination, h.ipv4.protocol,
              h.ports.source, h.ports.destination }, 16w16384);
        bit<16> length = (bit<16>)s.packet_length + AROUND;
        h.outer_ethernet = { next_hop, m.mac, 0x0800 };
        h.outer_ipv4 = { 4, 5, 0, length, 0, 2, 0, 64, 17, 0, m.ip, gateway };
        h.outer_udp = { flow, VXLAN, length - 20, 0 }; // no checksum, as the RFC recommends
        h.vxlan = { 0x08, 0, m.vni, 0 };
        s.egress_spec = port;
    }
    table remote {
        key = { m.vni: exact; h.ethernet.destination: exact; }
        actions = { encapsulate; NoAction; }
        default_action = NoAction();
    }

    // Inner addresses at our own ports.
    action deliver(bit<9> port) { s.egress_spec = port; }
    table local {
        key = { m.vni: exact; h.ethernet.destination: exact; }
        actions = { deliver; drop; }
        default_action = drop();
    }

    apply {
        self.apply();
        if (s.parser_error != error.NoError || s.checksum_error == 1) {
            drop();
        } else if (!h.outer_ethernet.isValid()) {
            if (network.apply().hit && !remote.apply().hit) { local.apply(); }
        } else if (h.vxlan.isValid() && h.vxlan.flags & 0x08 != 0 && h.outer_ipv4.destination == m.ip) {
            // Never back into the underlay: between gateways there are no loops.
            m.vni = h.vxlan.vni;
            h.outer_ethernet.setInvalid();
            h.outer_ipv4.setInvalid();
            h.outer_udp.setInvalid();
            h.vxlan.setInvalid();
            local.apply();
        } else {
            drop();
        }
    }
}

control Leave(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }

control Compute(inout headers h, inout meta m) {
    apply {
        update_checksum(h.outer_ipv4.isValid(), COVERED(h.outer_ipv4), h.outer_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers h) { apply { packet.emit(h); } }

V1Switch(Parse(), Verify(), Gateway(), Leave(), Compute(), Deparse()) main;
