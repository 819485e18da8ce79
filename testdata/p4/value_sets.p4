// Values that the control plane gives to a parser.
#define OWN_PARSER
#define TYPES struct headers { data_t data; data_t more; } struct meta { }
#include "data.p4i"
struct pair_t {
    @match(ternary) bit<8> a;
    bit<8> b;
}
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    value_set<bit<8>>(2) plain;
    value_set<pair_t>(4) pairs;
    state start {
        packet.extract(h.data);
        transition select(h.data.op) {
            plain: more;
            default: second;
        }
    }
    state second {
        transition select(h.data.a, h.data.b) {
            pairs: more;
            default: accept;
        }
    }
    state more { packet.extract(h.more); transition accept; }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = h.more.isValid() ? 9w2 : 9w1;
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
