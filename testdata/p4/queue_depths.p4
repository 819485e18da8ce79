// What waits at the port by which a packet leaves: the pipeline is told of it by whoever runs it, so that the STF file only sees zeros.
#define OWN_EGRESS
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = (bit<9>)h.data.op;
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        h.data.a = (bit<8>)s.enq_qdepth;
        h.data.b = (bit<8>)s.deq_qdepth;
        h.data.c = (bit<8>)s.deq_timedelta;
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
