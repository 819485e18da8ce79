// Source NAT for TCP, UDP and ping: behind one public address there are many hosts, each flow of theirs under a port of its own. A flow
// without a mapping is dropped, and its digest asks the controller for one; what comes from outside must have one.
#include <core.p4>
#include <v1model.p4>

const bit<16> FIRST = 40000; // of the ports that are handed out
const bit<48> AGAIN = 1_000_000; // microseconds until a flow is asked about once more
const bit<32> CELLS = 4096;

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> source; bit<32> destination;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header tcp_t { bit<16> source; bit<16> destination; bit<80> rest; bit<16> window; bit<16> checksum; }
header echo_t { bit<8> type; bit<8> code; bit<16> checksum; bit<16> id; }

struct headers { ethernet_t ethernet; ipv4_t ipv4; udp_t udp; tcp_t tcp; echo_t echo; }
struct meta { bit<16> source; bit<16> destination; } // the ports; of ping the identifier is both

// What the digest tells: the flow as it is inside, and the port that it may have outside.
struct unknown_t { bit<32> address; bit<8> protocol; bit<16> source; bit<9> port; bit<16> public; }

parser Parse(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        transition select(h.ipv4.ihl, h.ipv4.flags, h.ipv4.fragment, h.ipv4.protocol) {
            (5, 0 &&& 1, 0, 1): icmp;
            (5, 0 &&& 1, 0, 6): tcp;
            (5, 0 &&& 1, 0, 17): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(h.udp);
        m = { h.udp.source, h.udp.destination };
        transition accept;
    }
    state tcp {
        packet.extract(h.tcp);
        m = { h.tcp.source, h.tcp.destination };
        transition accept;
    }
    state icmp {
        transition select(packet.lookahead<bit<8>>()) { 0: echo; 8: echo; default: accept; }
    }
    state echo {
        packet.extract(h.echo);
        m = { h.echo.id, h.echo.id };
        transition accept;
    }
}

#define COVERED { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length, h.ipv4.id, h.ipv4.flags, h.ipv4.fragment, h.ipv4.ttl, \
                  h.ipv4.protocol, h.ipv4.source, h.ipv4.destination }

control Verify(inout headers h, inout meta m) {
    apply { verify_checksum(h.ipv4.isValid(), COVERED, h.ipv4.checksum, HashAlgorithm.csum16); }
}

// A checksum of what has changed in one place (RFC 1624, equation 3): what was wrong before stays wrong.
bit<16> mended(in bit<16> checksum, in bit<32> old_address, in bit<32> address, in bit<16> old_port, in bit<16> port) {
    bit<32> sum = (bit<32>)~checksum + (bit<32>)~old_address[31:16] + (bit<32>)~old_address[15:0] + (bit<32>)~old_port
        + (bit<32>)address[31:16] + (bit<32>)address[15:0] + (bit<32>)port;
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return ~sum[15:0];
}

control Nat(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<48>>(CELLS) asked; // when, by the flow's hash
    register<bit<16>>(1) handed_out;

    action mend(bit<32> old_address, bit<32> address, bit<16> old_port, bit<16> port) {
        h.tcp.checksum = mended(h.tcp.checksum, old_address, address, old_port, port);
        h.echo.checksum = mended(h.echo.checksum, 0, 0, old_port, port); // ICMP's does not cover addresses
        if (h.udp.checksum != 0) { // 0 is none at all
            h.udp.checksum = mended(h.udp.checksum, old_address, address, old_port, port);
            if (h.udp.checksum == 0) { h.udp.checksum = 0xffff; }
        }
    }

    action from(bit<32> address, bit<16> port) {
        mend(h.ipv4.source, address, m.source, port);
        h.ipv4.source = address;
        h.udp.source = port; h.tcp.source = port; h.echo.id = port; // of which the packet has one
        s.egress_spec = 0;
    }
    table outward {
        key = { h.ipv4.source: exact; h.ipv4.protocol: exact; m.source: exact; }
        actions = { from; NoAction; }
        default_action = NoAction();
    }

    action to(bit<32> address, bit<16> port, bit<9> out_port) {
        mend(h.ipv4.destination, address, m.destination, port);
        h.ipv4.destination = address;
        h.udp.destination = port; h.tcp.destination = port; h.echo.id = port;
        s.egress_spec = out_port;
    }
    action drop() { mark_to_drop(s); }
    table inward {
        key = { h.ipv4.destination: exact; h.ipv4.protocol: exact; m.destination: exact; }
        actions = { to; drop; }
        default_action = drop();
    }

    // The packet is lost; those that follow until the answer comes don't ask again.
    action ask() {
        bit<32> cell;
        bit<48> last;
        bit<16> given;
        bit<48> now = s.ingress_global_timestamp + 1; // never 0, which means not asked
        hash(cell, HashAlgorithm.crc32, 32w0, { h.ipv4.source, h.ipv4.protocol, m.source }, CELLS);
        asked.read(last, cell);
        if (last == 0 || now - last > AGAIN) {
            asked.write(cell, now);
            handed_out.read(given, 0);
            handed_out.write(0, given + 1);
            digest<unknown_t>(1, { h.ipv4.source, h.ipv4.protocol, m.source, s.ingress_port, FIRST + given });
        }
        mark_to_drop(s);
    }

    apply {
        bool known = h.udp.isValid() || h.tcp.isValid() || h.echo.isValid();
        if (!known || s.parser_error != error.NoError || s.checksum_error == 1) { drop(); }
        else if (s.ingress_port == 0) { inward.apply(); }
        else if (!outward.apply().hit) { ask(); }
    }
}

control Leave(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }

control Compute(inout headers h, inout meta m) {
    apply { update_checksum(h.ipv4.isValid(), COVERED, h.ipv4.checksum, HashAlgorithm.csum16); }
}

control Deparse(packet_out packet, in headers h) { apply { packet.emit(h); } }

V1Switch(Parse(), Verify(), Nat(), Leave(), Compute(), Deparse()) main;
