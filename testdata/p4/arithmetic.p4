// Saturating, wrapping, signed and wide arithmetic; shifts beyond the width; slices as l-values.
#define TYPES header wide_t { bit<128> w; } \
    struct headers { data_t data; wide_t wide; } \
    struct meta { }
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        int<8> sa = (int<8>)h.data.a;
        int<8> sb = (int<8>)h.data.b;
        if (h.data.op == 0) h.data.c = h.data.a |+| h.data.b;
        else if (h.data.op == 1) h.data.c = h.data.a |-| h.data.b;
        else if (h.data.op == 2) h.data.c = (bit<8>)(sa |+| sb);
        else if (h.data.op == 3) h.data.c = (bit<8>)(sa |-| sb);
        else if (h.data.op == 4) h.data.c = (bit<8>)(sa >> h.data.b);
        else if (h.data.op == 5) h.data.c = h.data.a << h.data.b;
        else if (h.data.op == 6) h.data.c = h.data.a * h.data.b;
        else if (h.data.op == 7) h.data.c = (bit<8>)-sa;
        else if (h.data.op == 8) h.data.c = sa < sb ? 8w1 : 8w0;
        else if (h.data.op == 9) h.data.c[6:3] = h.data.a[3:0];
        else if (h.data.op == 10) {
            h.wide.setValid();
            h.wide.w = (bit<128>)h.data.a << 120;
            h.wide.w = h.wide.w | ((bit<128>)h.data.b << 60) + 1;
            h.wide.w = h.wide.w - 2;
        } else if (h.data.op == 11) {
            h.wide.setValid();
            h.wide.w = (bit<128>)(int<128>)sa;
            h.wide.w[71:64] = ~h.wide.w[7:0];
        } else if (h.data.op == 12) h.data.c = (h.data.a ++ h.data.b)[11:4];
        else if (h.data.op == 13) h.data.c = (bit<8>)(bit<16>)((int<16>)sa * (int<16>)sb >> 4);
        else h.data.c = 8w7 / 2 + 8w7 % 4;
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
