// Copies: multicast with replica ids, clones of both kinds, resubmit and recirculate with kept fields, truncation.
#define OWN_EGRESS
#define TYPES struct headers { data_t data; } \
    struct meta { @field_list(1, 2) bit<8> kept; @field_list(2) bit<8> too; bit<8> lost; }
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (s.instance_type == 6) {
            // Resubmitted: the header is as it came, the kept fields are not.
            h.data.b = m.kept;
            h.data.c = m.lost + m.too;
        } else if (s.instance_type == 4) {
            h.data.c = m.kept + m.too;
        } else if (h.data.op == 1) {
            s.mcast_grp = 1;
        } else if (h.data.op == 2) {
            m.kept = 0x11; m.lost = 0x22; m.too = 0x33;
            h.data.a = 0xff;
            resubmit_preserving_field_list(1);
        } else if (h.data.op == 3) {
            m.kept = 0x44; m.lost = 0x55;
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            // What counts is the value at the end of the ingress.
            m.kept = 0x45;
            h.data.a = 0xee;
        } else if (h.data.op == 6) {
            mark_to_drop(s);
            clone(CloneType.I2E, 5);
        } else if (h.data.op == 7) {
            s.mcast_grp = 9;
        } else if (h.data.op == 8) {
            mark_to_drop(s);
            s.mcast_grp = 1;
        }
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        if (s.instance_type == 1) {
            h.data.b = m.kept;
            h.data.c = 0xc1;
        } else if (s.instance_type == 2) {
            h.data.c = 0xc2;
            h.data.b = m.too;
            // Like every packet it knows by which port the first one came.
            h.data.op = h.data.op + (bit<8>)s.ingress_port;
        } else if (h.data.op == 1) {
            h.data.c = (bit<8>)s.egress_rid;
            if (s.egress_port == 3) { mark_to_drop(s); }
        } else if (h.data.op == 4 && h.data.a != 0x77) {
            // In egress a recirculated packet is a normal one again.
            m.kept = 1; m.too = 2; m.lost = 4;
            h.data.a = 0x77;
            recirculate_preserving_field_list(2);
        } else if (h.data.op == 5) {
            m.too = 0x66;
            h.data.a = 0x88;
            clone_preserving_field_list(CloneType.E2E, 6, 2);
        } else if (h.data.op == 9) {
            truncate(3);
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
