// Random numbers lie between their bounds; asserts and assumptions that hold do nothing; a message is only told.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (h.data.op == 0) {
            random(h.data.c, 8w3, 8w4);
            assert(h.data.c == 3 || h.data.c == 4);
        } else if (h.data.op == 1) {
            random(h.data.c, 8w200, 8w200);
        } else if (h.data.op == 2) {
            assume(h.data.a > 0);
            log_msg("a is {}, b is {}", { h.data.a, h.data.b });
        } else if (h.data.op == 3) {
            assert(h.data.a == 1);
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
