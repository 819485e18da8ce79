// Tables that no controller can change, one behind the other: the compiler turns them into selects and joins those over one key.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action set_b(bit<8> b) { h.data.b = b; }
    action set_c(bit<8> c) { h.data.c = c; }
    action add_c(bit<8> c) { h.data.c = h.data.c + c; }
    action leave() { h.data.c = 0xee; exit; }
    action retag(bit<8> op) { h.data.op = op; }
    table first {
        key = { h.data.op: exact; }
        actions = { set_b; leave; retag; }
        const default_action = set_b(0);
        const entries = { 1: set_b(0x11); 2: set_b(0x22); 3: leave(); 4: retag(1); }
    }
    // The same key: one look decides both, but where the first table wrote the key.
    table second {
        key = { h.data.op: exact; }
        actions = { set_c; add_c; }
        const default_action = set_c(0xcc);
        const entries = { 1: set_c(0x31); 2: add_c(1); }
    }
    // Prefixes: the longest wins, wherever it stands.
    table third {
        key = { h.data.a: lpm; }
        actions = { add_c; NoAction; }
        const default_action = NoAction();
        const entries = { 0x80 &&& 0x80: add_c(0x40); 0xc0 &&& 0xf0: add_c(2); }
    }
    // Without a key.
    table last {
        actions = { add_c; }
        const default_action = add_c(0x80);
    }
    // A controller can change what happens on a miss: it stays a table.
    table changed {
        key = { h.data.a: exact; }
        actions = { add_c; NoAction; }
        const entries = { 1: add_c(4); }
    }
    apply {
        s.egress_spec = 1;
        first.apply();
        switch (second.apply().action_run) {
            set_c: { h.data.a = h.data.a | 1; }
        }
        if (third.apply().hit) { last.apply(); }
        changed.apply();
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
