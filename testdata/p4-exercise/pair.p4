// A router for an exercise of our own: what is to be joined by `wire p4 tutorial`. In the type of service it writes how many packets it found
// waiting at the port, if that is more than the switches before it did.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> id;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> srcAddr;
    bit<32> dstAddr;
}

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct meta {}

parser Parse(packet_in packet, out headers hdr, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Verify(inout headers hdr, inout meta m) {
    apply {}
}

control In(inout headers hdr, inout meta m, inout standard_metadata_t s) {
    action drop() {
        mark_to_drop(s);
    }
    action forward(bit<48> station, bit<9> port) {
        hdr.ethernet.srcAddr = hdr.ethernet.dstAddr;
        hdr.ethernet.dstAddr = station;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        s.egress_spec = port;
    }
    table route {
        key = {
            hdr.ipv4.dstAddr: lpm;
        }
        actions = { forward; drop; }
        default_action = drop();
    }
    table refused {
        key = {
            hdr.ipv4.srcAddr: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ipv4.length: range;
        }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        if (hdr.ipv4.isValid()) {
            route.apply();
            refused.apply();
        } else {
            drop();
        }
    }
}

control Out(inout headers hdr, inout meta m, inout standard_metadata_t s) {
    apply {
        bit<8> depth = 0xfc;
        if (s.enq_qdepth < 63) {
            depth = (bit<8>)s.enq_qdepth << 2;
        }
        if (depth > hdr.ipv4.tos) {
            hdr.ipv4.tos = depth;
        }
    }
}

control Compute(inout headers hdr, inout meta m) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.offset,
              hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.srcAddr, hdr.ipv4.dstAddr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Emit(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), In(), Out(), Compute(), Emit()) main;
