// Requests of the architecture whose arguments the fast engine leaves to the interpreter: products of more than 128 bits, and an index into
// more than 64 elements.
#define OWN_EGRESS
#define TYPES struct headers { data_t data; data_t[70] many; } \
    struct meta { @field_list(1) bit<8> kept; bit<160> a; bit<160> b; }
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        m.a = (bit<160>)h.data.a;
        m.b = (bit<160>)h.data.b;
        if (s.instance_type == 6 || s.instance_type == 4) {
            h.data.c = m.kept;
        } else if (h.data.op == 1) {
            clone(CloneType.I2E, (bit<32>)(m.a * m.b));
        } else if (h.data.op == 2) {
            h.many[69].c = h.data.b;
            clone_preserving_field_list(CloneType.I2E, (bit<32>)h.many[h.data.a].c, 1);
        } else if (h.data.op == 3) {
            truncate((bit<32>)(m.a * m.b));
        } else if (h.data.op == 4) {
            m.kept = 0x44;
            resubmit<tuple<bit<8>, bit<160>>>({ m.kept, m.a * m.b });
        }
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        m.a = (bit<160>)h.data.a;
        m.b = (bit<160>)h.data.b;
        if (s.instance_type == 1 || s.instance_type == 2) {
            h.data.c = 0xcc;
        } else if (h.data.op == 5) {
            clone(CloneType.E2E, (bit<32>)(m.a * m.b));
        } else if (h.data.op == 6) {
            truncate((bit<32>)(m.a * m.b));
        } else if (h.data.op == 7 && h.data.c == 0) {
            m.kept = 0x77;
            recirculate<tuple<bit<8>, bit<160>>>({ m.kept, m.a * m.b });
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
