// for loops of both kinds, break and continue, compound assignment, slices that are told by their width.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        bit<8> sum = 0;
        if (h.data.op == 0) {
            for (bit<8> i = 0; i < h.data.a; i += 1) {
                if (i == 3) { continue; }
                if (i == 6) { break; }
                sum += i;
            }
        } else if (h.data.op == 1) {
            for (bit<8> i in 1 .. h.data.a) { sum += i; }
        } else if (h.data.op == 2) {
            for (bit<8> i = 0, bit<8> j = 10; i < j; i += 1, j -= 1) { sum += 1; }
        } else if (h.data.op == 3) {
            for (bit<8> i in 0 .. 2) {
                for (bit<8> j in 0 .. 2) {
                    if (j == 1) { break; }
                    sum += 1;
                }
            }
        } else if (h.data.op == 4) {
            sum = h.data.a;
            sum[4+:4] = h.data.b[0+:4];
            sum <<= 1;
            sum |= 1;
        }
        h.data.c = sum;
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
