// Checksums of data of any length and of the payload behind them, which begins behind a header of variable length.
#define OWN_COMPUTE
#define OWN_PARSER
#define TYPES header head_t { bit<8> op; bit<8> n; bit<16> sum; } header middle_t { varbit<56> v; } header tail_t { bit<8> t; } \
    struct headers { head_t head; middle_t middle; tail_t tail; } struct meta { }
#include "data.p4i"
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.head);
        packet.extract(h.middle, (bit<32>)h.head.n * 8);
        transition select(h.head.op[0:0]) { 1: tail; default: accept; }
    }
    state tail { packet.extract(h.tail); transition accept; }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply { s.egress_spec = 1; }
}
control C(inout headers h, inout meta m) {
    apply {
        update_checksum_with_payload(h.head.op[1:1] == 0, { h.head.op, h.head.n, h.middle.v, h.tail }, h.head.sum, HashAlgorithm.csum16);
        update_checksum(h.head.op[1:1] == 1, { h.head.op, h.middle.v, h.tail, h.head.n }, h.head.sum, HashAlgorithm.csum16);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
