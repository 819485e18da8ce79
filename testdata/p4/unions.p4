// Header unions: one member at a time.
#include <core.p4>
#include <v1model.p4>
header head_t { bit<8> kind; bit<8> op; bit<8> result; }
header one_t { bit<8> a; }
header two_t { bit<16> b; }
header_union either_t { one_t one; two_t two; }
struct headers { head_t head; either_t u; either_t[2] us; }
struct meta { }
#include "rest.p4i"
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.head);
        transition select(h.head.kind) {
            1: one;
            2: two;
            3: many;
            default: accept;
        }
    }
    state one { packet.extract(h.u.one); transition accept; }
    state two { packet.extract(h.u.two); transition accept; }
    state many {
        packet.extract(h.us.next.two);
        packet.extract(h.us.next.one);
        transition accept;
    }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        h.head.result = h.u.isValid() ? 8w1 : 8w0;
        if (h.head.op == 1) {
            h.u.two.setValid();
            h.u.two.b = 0x1234;
        } else if (h.head.op == 2) {
            h.u.one = { 0x77 };
        } else if (h.head.op == 3) {
            h.u.one.setInvalid();
        } else if (h.head.op == 4) {
            h.u = h.us[1];
            h.us.pop_front(1);
        } else if (h.head.op == 5) {
            either_t other;
            other.one = { 0x42 };
            h.head.result = h.u == other ? 8w1 : 8w0;
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
