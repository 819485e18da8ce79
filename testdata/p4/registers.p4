// Registers and counters, direct ones too, and what lies beyond their ends.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<16>>(4) sums;
    counter(4, CounterType.packets_and_bytes) all;
    direct_counter(CounterType.packets_and_bytes) each;
    action forward(bit<9> port) {
        s.egress_spec = port;
        each.count();
    }
    table t {
        key = { h.data.op: exact; }
        actions = { forward; NoAction; }
        counters = each;
    }
    apply {
        s.egress_spec = 1;
        bit<16> sum;
        sums.read(sum, (bit<32>)h.data.a);
        sum = sum + (bit<16>)h.data.b;
        sums.write((bit<32>)h.data.a, sum);
        h.data.c = sum[7:0];
        all.count((bit<32>)h.data.a);
        t.apply();
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
