// Action profiles and selectors: members, groups, and which member a packet gets.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action forward(bit<9> port, bit<8> c) { s.egress_spec = port; h.data.c = c; }
    @name("profile") action_profile(8) profile;
    @name("selector") action_selector(HashAlgorithm.crc16, 8, 16) selector;
    table plain {
        key = { h.data.a: exact; }
        actions = { forward; NoAction; }
        implementation = profile;
    }
    table chosen {
        key = { h.data.a: exact; h.data.b: selector; h.data.c: selector; }
        actions = { forward; NoAction; }
        implementation = selector;
    }
    apply {
        s.egress_spec = 1;
        if (h.data.op == 1) { plain.apply(); }
        else { chosen.apply(); }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
