// Packets that keep their length, grow and shrink: by its destination a packet is forwarded, enters a tunnel with a header of 36 bytes, or leaves one.
#include <core.p4>
#include <v1model.p4>

const bit<16> TUNNEL = 0x88b5;

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header tunnel_t { bit<16> type; bit<16> id; bit<128> source; bit<128> destination; }
struct headers { ethernet_t ethernet; tunnel_t tunnel; }
struct meta { }

parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) { TUNNEL: tunnel; default: accept; }
    }
    state tunnel { packet.extract(h.tunnel); transition accept; }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action forward(bit<9> port) { s.egress_spec = port; }
    action enter(bit<9> port, bit<16> id, bit<128> source, bit<128> destination) {
        h.tunnel.setValid();
        h.tunnel = { h.ethernet.type, id, source, destination };
        h.ethernet.type = TUNNEL;
        s.egress_spec = port;
    }
    action leave(bit<9> port) {
        h.ethernet.type = h.tunnel.type;
        h.tunnel.setInvalid();
        s.egress_spec = port;
    }
    table switching {
        key = { h.ethernet.destination: exact; }
        actions = { forward; enter; leave; drop; }
        default_action = drop();
        size = 64;
    }
    apply { switching.apply(); }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout meta m) { apply { } }
control D(packet_out packet, in headers h) { apply { packet.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
