// A packet that writes to two cells of a register, under conditions that may hold together.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<8>>(16) held;
    apply {
        if (h.data.op[0:0] == 1) { held.write((bit<32>)h.data.a, h.data.c); }
        if (h.data.op[1:1] == 1) { held.write((bit<32>)h.data.b, h.data.c + 1); }
        s.egress_spec = 1;
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
