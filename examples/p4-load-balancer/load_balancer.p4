// A load balancer for TCP and UDP: packets to a service's address go to one of its servers, all packets of a flow to the same one.
// An action selector chooses by a hash of the flow among the members of a group, which the control plane may change at any time.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> source; bit<32> destination;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header tcp_t {
    bit<16> source; bit<16> destination; bit<32> number; bit<32> acknowledged;
    bit<16> flags; bit<16> window; bit<16> checksum; bit<16> urgent;
}

struct headers { ethernet_t ethernet; ipv4_t ipv4; udp_t udp; tcp_t tcp; }
struct meta {
    bit<16> source; // the ports, of whichever protocol
    bit<16> destination;
}

parser Parse(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        // Fragments have no checksum of their own, and all but the first no ports.
        transition select(h.ipv4.ihl, h.ipv4.flags, h.ipv4.fragment, h.ipv4.protocol) {
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
}

// What the checksums cover; those of TCP and UDP the payload too.
#define IPV4 { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length, h.ipv4.id, h.ipv4.flags, h.ipv4.fragment, h.ipv4.ttl, \
               h.ipv4.protocol, h.ipv4.source, h.ipv4.destination }
#define PSEUDO h.ipv4.source, h.ipv4.destination, 8w0, h.ipv4.protocol
#define UDP { PSEUDO, h.udp.length, h.udp.source, h.udp.destination, h.udp.length }
#define TCP { PSEUDO, h.ipv4.length - 20, h.tcp.source, h.tcp.destination, h.tcp.number, h.tcp.acknowledged, h.tcp.flags, \
              h.tcp.window, h.tcp.urgent }

// They are made anew behind the rewriting, so that a wrong one must not come that far.
control Verify(inout headers h, inout meta m) {
    apply {
        verify_checksum(h.ipv4.isValid(), IPV4, h.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(h.udp.isValid() && h.udp.checksum != 0, UDP, h.udp.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(h.tcp.isValid(), TCP, h.tcp.checksum, HashAlgorithm.csum16);
    }
}

control Balance(inout headers h, inout meta m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc32, 64, 16) servers;
    counter(8, CounterType.packets_and_bytes) chosen; // by port

    action drop() { mark_to_drop(s); }
    action send(bit<9> port, bit<48> mac, bit<32> address) {
        h.ethernet.destination = mac;
        h.ipv4.destination = address;
        chosen.count((bit<32>)port);
        s.egress_spec = port;
    }
    table service {
        key = {
            h.ipv4.destination: exact;
            h.ipv4.protocol: exact;
            m.destination: exact;
            h.ipv4.source: selector;
            h.ipv4.destination: selector;
            h.ipv4.protocol: selector;
            m.source: selector;
            m.destination: selector;
        }
        actions = { send; NoAction; }
        implementation = servers;
        default_action = NoAction();
    }

    // What servers answer comes from the service's address again.
    action answer(bit<32> address) {
        h.ipv4.source = address;
        s.egress_spec = 0;
    }
    table back {
        key = { h.ipv4.source: exact; h.ipv4.protocol: exact; m.source: exact; }
        actions = { answer; NoAction; }
        default_action = NoAction();
    }

    apply {
        bool known = h.udp.isValid() || h.tcp.isValid();
        drop(); // unless a table says where to; a group without members does nothing
        if (!known || s.parser_error != error.NoError || s.checksum_error == 1) { return; }
        if (s.ingress_port == 0) { service.apply(); } else { back.apply(); }
    }
}

control Leave(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }

control Compute(inout headers h, inout meta m) {
    apply {
        // UDP whose checksum comes to 0 goes without one: update_checksum knows no ffff for it.
        update_checksum(h.ipv4.isValid(), IPV4, h.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.udp.isValid() && h.udp.checksum != 0, UDP, h.udp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.tcp.isValid(), TCP, h.tcp.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers h) { apply { packet.emit(h); } }

V1Switch(Parse(), Verify(), Balance(), Leave(), Compute(), Deparse()) main;
