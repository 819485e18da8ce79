// A digest for the control plane, and learning by it.
#include "data.p4i"
struct learn_t { bit<8> address; bit<9> port; }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action known() { }
    action unknown() { digest<learn_t>(1, { h.data.a, s.ingress_port }); }
    table seen {
        key = { h.data.a: exact; }
        actions = { known; unknown; }
        default_action = unknown();
    }
    apply {
        s.egress_spec = 1;
        seen.apply();
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
