// `@field_list` with whatever is a number while compiling: what is in none of the lists is zero behind the resubmission.
const bit<8> ONE = 1;
enum bit<8> Lists { SECOND = 2 }
#define TYPES struct headers { data_t data; } \
    struct meta { \
        @field_list(ONE) bit<8> a; @field_list(Lists.SECOND, 0) bit<8> b; @field_list(8w1) bit<8> c; \
        @field_list(0x2) bit<8> d; @field_list(0+1) bit<8> e; bit<8> f; \
    }
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (s.instance_type == 6) {
            h.data.a = m.a + m.c + m.e;
            h.data.b = m.b + m.d;
            h.data.c = m.f;
        } else {
            m.a = 1; m.b = 2; m.c = 4; m.d = 8; m.e = 16; m.f = 32;
            if (h.data.op == 1) {
                resubmit_preserving_field_list(ONE);
            } else if (h.data.op == 2) {
                resubmit_preserving_field_list((bit<8>)Lists.SECOND);
            } else {
                resubmit_preserving_field_list(0);
            }
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
