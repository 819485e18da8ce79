// PNA: every way a packet can take through a NIC, and what its blocks see of it.
#include <core.p4>
#include <pna.p4>

header data_t { bit<8> op; bit<8> a; bit<8> b; bit<8> c; }
struct headers { data_t data; }
struct meta { bit<8> mark; bit<8> seen; }

parser MainParser(packet_in packet, out headers h, inout meta m, in pna_main_parser_input_metadata_t i) {
    state start {
        m.mark = 0x10 + (bit<8>)(bit<3>)(PassNumberUint_t)i.pass;
        packet.extract(h.data);
        transition select(h.data.op) {
            0xff: reject;
            default: accept;
        }
    }
}

// Sees what the parser found, and hands the metadata on.
control Pre(in headers h, inout meta m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
    apply {
        m.seen = h.data.a + (i.direction == PNA_Direction_t.HOST_TO_NET ? 8w0x80 : 0);
    }
}

control Main(inout headers h, inout meta m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    action to(PortId_t port) { send_to_port(port); }
    action mirror(PortId_t port, MirrorSessionId_t session) {
        mirror_packet((MirrorSlotId_t)1, session);
        send_to_port(port);
    }
    action drop_it() { drop_packet(); }
    table ports {
        key = {
            h.data.op: exact;
            SelectByDirection(i.direction, h.data.a, h.data.b): exact @name("near");
        }
        actions = { to; mirror; drop_it; }
        default_action = drop_it;
    }
    table outs {
        key = { h.data.b: exact; }
        actions = { to; NoAction; }
        default_action = NoAction;
    }
    apply {
        h.data.c = m.seen;
        if (i.parser_error == error.PacketTooShort) {
            send_to_port((PortId_t)32w2);
        } else if (h.data.op == 0) {
            // No destination.
        } else if (h.data.op == 1) {
            drop_packet();
            send_to_port((PortId_t)32w1);
        } else if (h.data.op == 2) {
            send_to_port((PortId_t)32w1);
            drop_packet();
        } else if (h.data.op == 3) {
            // As often as `b` says, and then away.
            h.data.c = m.mark;
            o.class_of_service = (ClassOfService_t)((ClassOfServiceUint_t)i.class_of_service + 1);
            if (h.data.b != 0) {
                h.data.b = h.data.b - 1;
                recirculate();
            } else {
                h.data.a = (ClassOfServiceUint_t)i.class_of_service;
                send_to_port((PortId_t)32w1);
            }
        } else if (h.data.op == 4) {
            // Two slots, of which one is asked twice: the last counts. The packet itself is dropped.
            mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)16w9);
            mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)16w5);
            mirror_packet((MirrorSlotId_t)3, (MirrorSessionId_t)16w6);
        } else if (h.data.op == 5) {
            // Back from the other side it is known, and goes where it was sent.
            if (i.loopedback) {
                h.data.a = (bit<8>)(PortIdUint_t)i.input_port;
                h.data.c = m.seen;
            } else {
                outs.apply();
            }
        } else {
            ports.apply();
        }
    }
}

control Emit(packet_out packet, in headers h, in meta m, in pna_main_output_metadata_t o) {
    apply { packet.emit(h.data); }
}

PNA_NIC(MainParser(), Pre(), Main(), Emit()) main;
