// Two rates, three colours: a burst of green, then yellow, then red, and green again when time has gone by.
#include "data.p4i"
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    meter(2, MeterType.packets) packets;
    direct_meter<bit<8>>(MeterType.bytes) bytes;
    // However often it is read: the packet is metered once.
    action read() { bytes.read(h.data.c); bytes.read(h.data.b); }
    table metered {
        key = { h.data.a: exact; }
        actions = { read; NoAction; }
        meters = bytes;
    }
    apply {
        s.egress_spec = 1;
        if (h.data.op == 0) { packets.execute_meter<bit<8>>((bit<32>)h.data.a, h.data.c); }
        else { metered.apply(); }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
