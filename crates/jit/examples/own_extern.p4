// Two externs of our own, written in Rust in own_extern.rs: how often a source has been seen, nearly, and how many bits of its address are set.
#include <core.p4>
#include <v1model.p4>

extern CountMin<K> {
    CountMin(bit<32> rows, bit<32> columns);
    void add(in K key, out bit<32> estimate);
}

extern bit<8> popcount(in bit<32> x);

header seen_t { bit<32> source; bit<32> times; bit<8> ones; }
struct headers { seen_t seen; }
struct meta { }

parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { packet.extract(h.seen); transition accept; }
}

control V(inout headers h, inout meta m) { apply { } }

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    CountMin<bit<32>>(4, 1024) sources;
    apply {
        s.egress_spec = 1;
        sources.add(h.seen.source, h.seen.times);
        h.seen.ones = popcount(h.seen.source);
        // A source that sends too much.
        if (h.seen.times > 3) { mark_to_drop(s); }
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }

control D(packet_out packet, in headers h) { apply { packet.emit(h.seen); } }

V1Switch(P(), V(), I(), E(), V(), D()) main;
