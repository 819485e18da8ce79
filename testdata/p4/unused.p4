// A table whose answer nobody wants, and a register that is only read: of both nothing is left in hardware but their places on the bus.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<8>>(4) held;
    action nothing() { }
    table unused { key = { h.data.a: exact; } actions = { nothing; } }
    apply {
        unused.apply();
        held.read(h.data.c, (bit<32>)h.data.b & 3);
        s.egress_spec = 1;
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
