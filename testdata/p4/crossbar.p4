// Our own switch: ports, groups, drops in both halves, a packet of which nothing is said, checksums as a function.
#include <core.p4>
#include <switch.p4>
header data_t { bit<8> op; bit<8> a; bit<16> sum; }
struct headers { data_t data; }
struct meta { bit<8> note; }

parser P(packet_in packet, out headers h, inout meta m, inout switch_metadata_t s) {
    state start {
        packet.extract(h.data);
        transition accept;
    }
}
control I(inout headers h, inout meta m, inout switch_metadata_t s) {
    register<bit<8>, bit<8>>(4) last;
    counter<bit<8>>(4, CounterType.packets_and_bytes) seen;
    action forward(port_t port) { s.egress_port = port; }
    action group(bit<16> number) { s.multicast_group = number; }
    action discard() { s.drop = true; }
    table where {
        key = { h.data.op : exact; }
        actions = { forward; group; discard; NoAction; }
        default_action = NoAction();
        const entries = {
            1 : forward(5);
            2 : group(3);
            3 : discard();
            5 : forward(6);
            6 : forward(7);
        }
    }
    apply {
        if (s.parser_error != error.NoError) {
            s.egress_port = 9;
            return;
        }
        seen.count(h.data.op);
        m.note = (bit<8>)s.ingress_port;
        where.apply();
        if (h.data.op == 6) {
            bit<8> old;
            last.read(old, 1);
            last.write(1, h.data.a);
            h.data.a = old;
        }
    }
}
control E(inout headers h, inout meta m, inout switch_metadata_t s) {
    apply {
        h.data.setValid();
        if (h.data.op == 2) {
            h.data.a = (bit<8>)s.instance;
            if (s.egress_port == 3) { s.drop = true; }
        } else if (h.data.op == 5) {
            h.data.a = m.note;
            truncate(4);
        }
        h.data.sum = checksum({ h.data.op, h.data.a });
    }
}
control D(packet_out packet, in headers h) {
    apply { packet.emit(h.data); }
}
Switch(P(), I(), E(), D()) main;
