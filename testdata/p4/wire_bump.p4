// A bump in the wire: counts, marks and drops, and lets everything else through.
#include <core.p4>
#include <bump.p4>
header data_t { bit<8> op; bit<8> mark; }
struct headers { data_t data; }
struct meta { }

parser P(packet_in packet, out headers h, inout meta m, inout bump_metadata_t s) {
    state start {
        packet.extract(h.data);
        transition accept;
    }
}
control B(inout headers h, inout meta m, inout bump_metadata_t s) {
    register<bit<32>, bit<1>>(2) bytes;
    apply {
        bit<32> sum;
        bytes.read(sum, s.side);
        bytes.write(s.side, sum + s.length);
        if (h.data.isValid()) {
            h.data.mark = h.data.mark |+| 1;
            s.drop = h.data.op == 0xff;
        }
    }
}
control D(packet_out packet, in headers h) {
    apply { packet.emit(h.data); }
}
Bump(P(), B(), D()) main;
