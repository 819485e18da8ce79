// A small router for the tests of controllers: routes with counters and idle timeouts, digests, a selector, a register, a meter, and packets from
// and to the controller.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU = 510;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> _pad;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {}

struct learn_t {
    bit<48> mac;
    bit<9> port;
}

parser Reader(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(4) types;
    state start {
        transition select(standard.ingress_port) {
            CPU: from_controller;
            default: ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            types: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoChecks(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Routing(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) hits;
    counter(16, CounterType.packets) by_port;
    register<bit<32>>(8) last_address;
    meter(4, MeterType.bytes) rate;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) paths;

    action forward(bit<9> port, bit<48> mac) {
        standard.egress_spec = port;
        hdr.ethernet.dst = mac;
        hits.count();
    }
    action punt() {
        standard.egress_spec = CPU;
        hits.count();
    }
    action flood(bit<16> group) {
        standard.mcast_grp = group;
        hits.count();
    }
    action drop() {
        mark_to_drop(standard);
        hits.count();
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; punt; flood; drop; }
        default_action = drop();
        counters = hits;
        support_timeout = true;
        size = 64;
    }
    action go(bit<9> port) {
        standard.egress_spec = port;
    }
    table balance {
        key = {
            hdr.ethernet.type: exact;
            hdr.ethernet.src: selector;
        }
        actions = { go; NoAction; }
        implementation = paths;
        default_action = NoAction();
    }
    action drop_it() {
        mark_to_drop(standard);
    }
    table acl {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.protocol: range @name("protocol");
            hdr.ipv4.ttl: optional;
        }
        actions = { NoAction; drop_it; }
        default_action = NoAction();
    }
    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        }
        by_port.count((bit<32>)(bit<4>)standard.ingress_port);
        if (hdr.ipv4.isValid()) {
            digest<learn_t>(1, { hdr.ethernet.src, standard.ingress_port });
            last_address.write(0, hdr.ipv4.dst);
            routes.apply();
            acl.apply();
        } else {
            balance.apply();
        }
    }
}

control Leaving(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in.reason = 1;
        }
    }
}

control Writer(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(Reader(), NoChecks(), Routing(), Leaving(), NoChecks(), Writer()) main;
