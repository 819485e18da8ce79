// Call by copy-in and copy-out: order, aliasing, exit and return on the way.
#include "data.p4i"
bit<8> twice(inout bit<8> v) {
    v = v + 1;
    if (v == 3) { return 77; }
    return v * 2;
}
control Callee(inout bit<8> x, out bit<8> y, in bit<8> why) {
    apply {
        x = x + 1;
        y = 5;
        if (why == 1) return;
        if (why == 2) exit;
        y = x;
    }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    Callee() callee;
    action both(inout bit<8> p, inout bit<8> q) {
        p = 10;
        q = q + 1;
    }
    action leave(inout bit<8> p) {
        p = 99;
        exit;
    }
    apply {
        s.egress_spec = 1;
        if (h.data.op <= 2) {
            callee.apply(h.data.a, h.data.b, h.data.op);
            h.data.c = 1;
        } else if (h.data.op == 3) {
            // The same l-value twice: the copy-out of the second wins.
            both(h.data.a, h.data.a);
        } else if (h.data.op == 4) {
            h.data.c = twice(h.data.a) + twice(h.data.a);
        } else if (h.data.op == 5) {
            leave(h.data.a);
            h.data.c = 1;
        } else if (h.data.op == 6) {
            // The right side is only called when the left is true.
            if (h.data.a == 1 && twice(h.data.b) > 3) { h.data.c = 1; }
        } else if (h.data.op == 7) {
            // What an extern writes into a variable is read more than once.
            bit<8> drawn;
            random(drawn, 8w7, 8w7);
            h.data.b = drawn;
            h.data.c = drawn + 1;
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
