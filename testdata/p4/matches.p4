// Exact, LPM, ternary, range and optional keys, together and by priority.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action set(bit<8> c) { h.data.c = c; }
    table longest {
        key = { h.data.a: exact; h.data.b: lpm; }
        actions = { set; NoAction; }
        default_action = set(0xdd);
    }
    table ranged {
        key = { h.data.a: range; h.data.b: ternary; h.data.op: optional; }
        actions = { set; NoAction; }
        default_action = set(0xdd);
    }
    table fixed {
        key = { h.data.a: ternary; h.data.b: exact; }
        actions = { set; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (0x10 &&& 0xf0, 1): set(1);
            (0x11, 1): set(2);
            (_, 2): set(3);
            (0x00 &&& 0x00, 1): set(4);
        }
    }
    table mixed {
        key = { h.data.a: ternary; }
        actions = { set; }
        largest_priority_wins = false;
        entries = {
            const priority = 10: 0x10 &&& 0xf0: set(0xa);
            priority = 5: 0x12: set(0xb);
            0x13: set(0xc);
        }
        default_action = set(0);
    }
    apply {
        s.egress_spec = 1;
        if (h.data.op == 1) { longest.apply(); }
        else if (h.data.op & 0xf0 == 0x20) { ranged.apply(); }
        else if (h.data.op == 3) { fixed.apply(); }
        else if (h.data.op == 4) { mixed.apply(); }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
